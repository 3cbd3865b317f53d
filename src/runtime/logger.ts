/**
 * Where the library writes. The shape of pino, so that a Fastify logger fits as it is. A message is a sentence without a full stop; the
 * details name what it is about (`taskId`, …), and an error is `err`, which pino writes out whole.
 */
export interface Logger {
  debug(details: object, message?: string): void;
  info(details: object, message?: string): void;
  warn(details: object, message?: string): void;
  error(details: object, message?: string): void;
}

/** Says nothing. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
