/** Where something lies in a bag. */
export interface Place<T> {
  item: T | undefined;
  index: number;
}

/**
 * What comes and goes with every request. A Set or a Map that changes all the time leaves its old tables to the collector, each linked to
 * the next: once one of them is old, all that ever lay in the later ones stays until the whole heap is collected. A bag leaves nothing.
 */
export class Bag<T> {
  readonly #places: Place<T>[] = [];

  get size(): number {
    return this.#places.length;
  }

  /** Gives what `remove` takes. */
  add(item: T): Place<T> {
    const place: Place<T> = { item, index: this.#places.length };
    this.#places.push(place);
    return place;
  }

  /** Takes an item out, if it is still in. */
  remove(place: Place<T>): void {
    if (this.#places[place.index] !== place) return;
    const last = this.#places.pop();
    if (last !== undefined && last !== place) {
      this.#places[place.index] = last;
      last.index = place.index;
    }
    place.item = undefined;
  }

  /** Does something with each, in no order. The one that it is done with may be taken out meanwhile; no other. */
  each(act: (item: T) => void): void {
    // Backwards: what takes its place has had its turn.
    for (let index = this.#places.length - 1; index >= 0; index--) {
      const item = this.#places[index]?.item;
      if (item !== undefined) act(item);
    }
  }
}
