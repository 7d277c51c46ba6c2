// What somebody does with a client of the generated types: the compiler knows every path, field and answer.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const client = createClient<paths>({ baseUrl: process.argv[2].replace(/\/api\/v1$/, "") });

const item: components["schemas"]["EntryShape"] = {
  type: "single_turn",
  name: "Hello",
  inputs: { message: "hello" },
  expected: { success_criteria: ["The answer says hello"] },
};

const made = await client.POST("/api/v1/test-sets", { body: { name: "Greetings", agent_id: "bot-1", items: [item] } });
if (!made.data) throw new Error(made.error.detail);
const asked = await client.POST("/api/v1/runs", { body: { test_set_id: made.data.test_set_id } });
if (!asked.data) throw new Error(asked.error.detail);
const params = { path: { run_id: asked.data.run_id } };
let run = asked.data;
while (run.status === "pending" || run.status === "running") {
  await new Promise((done) => setTimeout(done, 50));
  run = (await client.GET("/api/v1/runs/{run_id}", { params })).data!;
}
const results = (await client.GET("/api/v1/runs/{run_id}/results", { params })).data!;
const listed = Array.isArray(results) ? results : results.items;
const missing = await client.GET("/api/v1/rubrics/{id}", { params: { path: { id: "none" } } });
console.log(run.status, run.total, JSON.stringify(listed.map((each) => each.output?.answer)), missing.error?.error);
