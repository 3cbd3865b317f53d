import { create } from "@bufbuild/protobuf";
import { type Artifact, ArtifactSchema } from "../a2a/types.js";
import type { Said } from "./updates.js";

type ArtifactSaid = Extract<Said, { kind: "artifact" }>;

/** Gives artifacts their ids, and holds an agent to what it said of them (§4.2.2). */
export interface ArtifactLedger {
  /**
   * The artifact that an update writes. Without an id: the next `artifact-<n>` of the task; with `append`, the one written last.
   * @throws TypeError for more of an artifact whose last chunk was said.
   */
  write(said: ArtifactSaid): Artifact;
}

/** @param earlier what earlier turns made. */
export function createArtifactLedger(earlier: readonly Artifact[]): ArtifactLedger {
  const ids = new Set(earlier.map(({ artifactId }) => artifactId));
  const closed = new Set<string>();
  let latest: string | undefined;

  const next = (): string => {
    for (let n = ids.size + 1; ; n++) if (!ids.has(`artifact-${n}`)) return `artifact-${n}`;
  };
  return {
    write({ parts, facts }) {
      const append = facts.append ?? false;
      const artifactId = facts.artifactId ?? (append ? latest : undefined) ?? next();
      if (append && closed.has(artifactId))
        throw new TypeError(`The last chunk of ${artifactId} was said: begin another artifact, or say it again whole`);
      ids.add(artifactId);
      latest = artifactId;
      if (facts.lastChunk) closed.add(artifactId);
      else closed.delete(artifactId);
      return create(ArtifactSchema, {
        artifactId,
        name: facts.name ?? "",
        description: facts.description ?? "",
        parts: [...parts],
        ...(facts.metadata === undefined ? {} : { metadata: facts.metadata }),
        extensions: [...(facts.extensions ?? [])],
      });
    },
  };
}
