/** A number that was given on the command line. @throws for anything else than a whole one. */
export function wholeNumber(name: string, given: string | undefined, otherwise: number): number {
  if (given === undefined) return otherwise;
  if (!/^\d{1,15}$/.test(given)) throw new Error(`--${name} must be a whole number, not ${JSON.stringify(given)}`);
  return Number(given);
}

/** Those that were asked for by name: one, or all. @throws for a name that isn't there. */
export function chosenFrom<T extends string>(name: string, all: readonly T[], given: string | undefined): readonly T[] {
  const chosen = all.filter((one) => given === undefined || one === given);
  if (chosen.length === 0) throw new Error(`--${name} must be one of ${all.join(", ")}`);
  return chosen;
}
