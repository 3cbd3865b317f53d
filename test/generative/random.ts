/** Chance that comes again with its seed. */
export interface Random {
  /** A number from 0 to below 1. */
  next(): number;
  /** A whole number from 0 to below `limit`. */
  below(limit: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** `undefined` where there is nothing to pick. */
  maybe<T>(from: readonly T[]): T | undefined;
  weighted<T extends readonly [weight: number, ...rest: unknown[]]>(from: readonly T[]): T;
}

/** Mulberry32: small, quick, and good enough to walk about with. */
export function createRandom(seed: number): Random {
  let state = (seed * 0x9e3779b1) | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  const pick = <T>(from: readonly T[]): T => {
    if (from.length === 0) throw new RangeError("There is nothing to pick");
    return from[below(from.length)] as T;
  };
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick,
    maybe: (from) => (from.length === 0 ? undefined : pick(from)),
    weighted(from) {
      let at = next() * from.reduce((sum, [weight]) => sum + weight, 0);
      for (const one of from) {
        at -= one[0];
        if (at < 0) return one;
      }
      return pick(from);
    },
  };
}
