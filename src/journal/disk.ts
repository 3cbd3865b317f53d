import fs from "node:fs";
import { promisify } from "node:util";
import { A2AError } from "../a2a/errors.js";
import type { Runtime } from "../runtime/runtime.js";

/** Puts what was written to a file on its disk, off the event loop. */
export interface SyncedFile {
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** What tells a file from another one that has come to its place. */
export async function identityOf(path: string): Promise<string> {
  const { dev, ino } = await stat(path, { bigint: true });
  return `${dev} ${ino}`;
}

// Those of `node:fs/promises` make a table of file facts for each call.
const [open, close, fdatasync] = [promisify(fs.open), promisify(fs.close), promisify(fs.fdatasync)];
const stat = promisify(fs.stat);

/** Opens a file to sync it. */
export async function openSynced(path: string): Promise<SyncedFile> {
  const file = await open(path, "r+");
  return { sync: () => fdatasync(file), close: () => close(file) };
}

interface Waiting {
  readonly commit: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * What is committed, and how much of it is on the disk. A commit isn't told to anybody before it is there: neither to who asked for it,
 * nor to a reader. One sync serves all that was committed before it began.
 *
 * A sync that fails leaves nobody knowing what the disk has, and the next one could succeed without having written it: from then on
 * nothing is acknowledged, nor read, until the journal is opened again.
 */
export class Disk {
  readonly #file: SyncedFile;
  readonly #runtime: Pick<Runtime, "at">;
  readonly #waiting: Waiting[] = [];
  #committed = 0;
  #synced = 0;
  #syncing = false;
  #failure: A2AError | undefined;

  constructor(file: SyncedFile, runtime: Pick<Runtime, "at">) {
    this.#file = file;
    this.#runtime = runtime;
  }

  /** @throws A2AError INTERNAL after a sync has failed. */
  assertSound(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Something was committed, here or in another process. */
  committed(): void {
    this.#committed++;
  }

  /** Resolves when all that is committed now is on the disk; `undefined` if it is. @throws A2AError INTERNAL, then and for ever. */
  settled(): Promise<void> | undefined {
    this.assertSound();
    if (this.#synced === this.#committed) return undefined;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ commit: this.#committed, resolve, reject });
      if (!this.#syncing) void this.#sync();
    });
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #sync(): Promise<void> {
    this.#syncing = true;
    try {
      while (this.#waiting.length > 0) {
        const covered = this.#committed;
        this.#runtime.at("append.before-sync");
        await this.#file.sync();
        this.#synced = covered;
        while ((this.#waiting[0]?.commit ?? Number.POSITIVE_INFINITY) <= covered) this.#waiting.shift()?.resolve();
      }
    } catch (cause) {
      this.#failure = new A2AError("INTERNAL", "The journal's disk failed; restart the server when it is mended", {
        cause,
      });
      for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
    } finally {
      this.#syncing = false;
    }
  }
}
