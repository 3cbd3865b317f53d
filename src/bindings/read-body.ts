/**
 * Reads a whole body. With a reader, for not every browser iterates a stream.
 *
 * @returns `undefined`, and cancels, as soon as it is longer than `maxBytes`.
 * @throws what the stream throws.
 */
export async function readBody(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (let step = await reader.read(); step.value !== undefined; step = await reader.read()) {
    length += step.value.length;
    if (length > maxBytes) {
      reader.cancel().catch(() => undefined);
      return undefined;
    }
    chunks.push(step.value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
