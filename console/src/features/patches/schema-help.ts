import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { schemaQuery } from './patch-queries.ts'
import { hint, placeAt, type SchemaNode, suggestions } from './schema-at.ts'

/** "v1.12 and v1.13" */
const listed = (versions: readonly string[]): string =>
  versions.length < 2 ? (versions[0] ?? '') : `${versions.slice(0, -1).join(', ')} and ${versions.at(-1)}`
const minor = (version: string): string => /^v?\d+\.\d+/.exec(version)?.[0] ?? version

/** Completion and hover from the API's schema. Without an answer there are none, and everything else works. */
export function useSchemaHelp() {
  const { data } = useQuery(schemaQuery)
  return useMemo(() => {
    const schema = data?.schema as SchemaNode | undefined
    return {
      versions: listed([...new Set((data?.versions ?? []).map(minor))]),
      editor: {
        /** Line and column from 0. */
        suggest: (lines: readonly string[], line: number, column: number) => (schema === undefined ? [] : suggestions(schema, placeAt(lines, line, column))),
        explain: (lines: readonly string[], line: number) => (schema === undefined ? null : hint(schema, lines, line)),
      },
    }
  }, [data])
}
