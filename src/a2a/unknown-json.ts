/** A JSON object of which nothing else is known. */
export type UnknownObject = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object: neither null nor an array. */
export function isObject(json: unknown): json is UnknownObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

/** Sets a member whatever its name is: assigned, `__proto__` would change the prototype and be lost. */
export function put<T>(target: Record<string, T>, key: string, value: T): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}

/** ES2024, in every engine of ours; and five times as fast as a pattern. */
const native = (String.prototype as { isWellFormed?: (this: string) => boolean }).isWellFormed;

/** Whether UTF-8 can carry a string: no half of a surrogate pair stands alone. */
export function isWellFormed(text: string): boolean {
  return native === undefined ? !/\p{Surrogate}/u.test(text) : native.call(text);
}
