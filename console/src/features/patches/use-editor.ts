import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { Asked } from '#contract/operation.ts'
import { patchLimits, patchPreview, type Preview } from '#contract/patches.ts'
import { enumerated } from '#contract/words.ts'
import { call } from '../../api/client.ts'
import { reasonOf } from '../../lib/reason.ts'
import { bodyBytes, type PatchDraft, weightOf } from './patch-form.ts'
import { schemaQuery } from './patch-queries.ts'
import { hint, placeAt, type SchemaNode, suggestions } from './schema-at.ts'

/** Pause in typing, in ms, before the preview is fetched. */
const pauseMs = 350

export type PreviewState = ReturnType<typeof usePreview>

/** Live preview of a patch. Outdated responses are dropped. Fetches nothing unless `wanted`. */
export function usePreview(
  serverId: string,
  patchId: string | null,
  draft: PatchDraft,
  wanted: boolean,
) {
  const [answer, setAnswer] = useState<{ preview: Preview; key: string; of: string } | null>(null)
  const [failure, setFailure] = useState<{ error: Error; key: string } | null>(null)
  const [turn, setTurn] = useState(0)
  const first = useRef(true)
  const weight = weightOf(draft.weight)
  const { body, name } = draft
  const key = JSON.stringify([body, Number.isNaN(weight) ? null : weight, name, turn])
  useEffect(() => {
    const [text, at, called] = JSON.parse(key) as [string, number | null, string]
    const stop = new AbortController()
    if (!wanted || bodyBytes(text) > patchLimits.bodyBytes) return undefined
    const ask = async (asked: Asked<typeof patchPreview>['body']) => {
      try {
        const preview = await call(
          patchPreview,
          { params: { id: serverId }, body: asked },
          stop.signal,
        )
        setAnswer({ preview, key, of: text })
        setFailure(null)
      } catch (error) {
        if (!stop.signal.aborted)
          setFailure({ error: error instanceof Error ? error : new Error(reasonOf(error)), key })
      }
    }
    const timer = setTimeout(
      () => {
        const { min, max } = patchLimits.weight
        const asked = {
          body: text,
          ...(patchId !== null && { patch_id: patchId }),
          ...(at !== null && at >= min && at <= max && { weight: at }),
          ...(called !== '' && { name: called.slice(0, 64) }),
        }
        void ask(asked)
      },
      first.current ? 0 : pauseMs,
    )
    first.current = false
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [key, serverId, patchId, wanted])
  return {
    /** The last preview, kept while a newer one loads. */
    preview: answer?.preview ?? null,
    /** The patch body that `preview` shows. */
    of: answer?.of ?? '',
    /** Whether the preview of the current body is still loading. */
    pending: answer?.key !== key && failure?.key !== key,
    error: failure?.key === key ? failure.error : null,
    retry: () => setTurn((n) => n + 1),
  }
}

const minor = (version: string): string => /^v?\d+\.\d+/.exec(version)?.[0] ?? version

/**
 * Completion and hover from the API's schema for a Talos version; null: the newest. While the schema is missing there is no completion or
 * hover, and everything else works.
 */
export function useSchemaHelp(talosVersion: string | null) {
  const { data } = useQuery(schemaQuery(talosVersion))
  return useMemo(() => {
    const schema = data?.schema as SchemaNode | undefined
    return {
      versions: enumerated([...new Set((data?.versions ?? []).map(minor))]),
      editor: {
        /** Line and column from 0. */
        suggest: (lines: readonly string[], line: number, column: number) =>
          schema === undefined ? [] : suggestions(schema, placeAt(lines, line, column)),
        explain: (lines: readonly string[], line: number) =>
          schema === undefined ? null : hint(schema, lines, line),
      },
    }
  }, [data])
}
