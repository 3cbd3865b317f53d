import type { Handler } from "nuncio";
import { afterAll, beforeAll, describe } from "vitest";
import { readContract } from "./handler-reads.js";
import { sendContract } from "./handler-send.js";
import { streamContract } from "./handler-streams.js";

/** A Handler in front of the scripted agent, over some wire. */
export interface Subject {
  /** The operations, asked by this user. */
  as(user: string): Handler;
  close(): Promise<void>;
}

/** What any Handler of ours must do, whatever stands between it and its caller (§3). Users are "ann" and "bob". */
export function handlerContract(name: string, open: () => Promise<Subject>): void {
  describe(name, () => {
    let subject: Subject;
    beforeAll(async () => {
      subject = await open();
    });
    afterAll(() => subject?.close());
    const on = {
      get ann() {
        return subject.as("ann");
      },
      get bob() {
        return subject.as("bob");
      },
    };
    sendContract(on);
    streamContract(on);
    readContract(on);
  });
}
