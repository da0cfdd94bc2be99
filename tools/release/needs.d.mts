/** Sentences about what is missing; empty if the trials can run. */
export declare function missingForRelease(): string[]
