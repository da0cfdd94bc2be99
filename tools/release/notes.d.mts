/**
 * The section of a version, as the notes of its release.
 * @throws Error if the changelog has no section for it
 */
export function notesOf(changelog: string, version: string): string
