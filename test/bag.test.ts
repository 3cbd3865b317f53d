import fc from "fast-check";
import { expect, test } from "vitest";
import { Bag, type Place } from "../src/runtime/bag.js";

const contents = <T>(bag: Bag<T>): T[] => {
  const items: T[] = [];
  bag.each((item) => items.push(item));
  return items.sort();
};

test("a bag holds what was put in and not taken out, however often that is tried", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(19)), (moves) => {
      const bag = new Bag<number>();
      const places = new Map<number, Place<number>>();
      const gone: Place<number>[] = [];
      for (const item of moves) {
        const place = places.get(item);
        if (place === undefined) {
          places.set(item, bag.add(item));
        } else {
          bag.remove(place);
          places.delete(item);
          gone.push(place);
        }
        for (const old of gone) bag.remove(old);
      }
      expect(contents(bag)).toEqual([...places.keys()].sort());
      expect(bag.size).toBe(places.size);
      for (const { item } of gone) expect(item).toBeUndefined();
    }),
  );
});

test("each of a bag is told once, though some are taken out meanwhile", () => {
  const bag = new Bag<string>();
  const places = new Map(["a", "b", "c", "d"].map((item) => [item, bag.add(item)]));
  const told: string[] = [];
  bag.each((item) => {
    told.push(item);
    const place = places.get(item);
    if (place !== undefined) bag.remove(place);
  });
  expect(told.sort()).toEqual(["a", "b", "c", "d"]);
  expect(bag.size).toBe(0);
});
