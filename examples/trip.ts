// Asks back until it knows enough: each answer starts `run` again, with the whole conversation in `task.history`.
import { agent } from "nuncio";

export default agent({
  name: "Trip planner",
  description: "Plans a city trip, and asks for what it needs to know",
  async *run(task) {
    const [, city, nights] = task.history.filter(({ role }) => role === "user").map(({ text }) => text.trim());
    if (city === undefined) return task.inputRequired("Which city?");
    if (nights === undefined) return task.inputRequired(`How many nights in ${city}?`);
    const count = Number(nights);
    if (!Number.isInteger(count) || count < 1 || count > 30)
      return task.failed(`${JSON.stringify(nights)} isn't a number of nights`);

    yield task.working(`Looking for ${count} nights in ${city}`);
    yield task.artifact([`${count} nights in ${city}.`, { data: { city, nights: count, days: daysOf(count) } }], {
      name: "plan",
    });
    return task.completed(`Have a good time in ${city}`);
  },
});

function daysOf(nights: number): { day: number; plan: string }[] {
  const plans = ["Arrive, walk the old town", "Museums", "Markets and the river", "A day trip"];
  return Array.from({ length: nights + 1 }, (_, day) => ({
    day: day + 1,
    plan: day === nights ? "Leave" : (plans[day % plans.length] ?? ""),
  }));
}
