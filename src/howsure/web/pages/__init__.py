"""The pages, a file for each: a frozen context, the pure function that makes it, and the route that shows it."""
