import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type Preferences, preferencesGet, preferencesPut } from '#contract/sessions.ts'
import { call } from './client.ts'
import { query } from './query.ts'

/** The user's preferences; changes are shown at once and saved behind. */
export function usePreferences(): { preferences: Preferences; setPreferences: (change: Partial<Preferences>) => void } {
  const client = useQueryClient()
  const asked = query(preferencesGet)
  const { data } = useQuery({ ...asked, staleTime: Number.POSITIVE_INFINITY })
  const { mutate } = useMutation({
    mutationFn: (body: Preferences) => call(preferencesPut, { body }),
    onError: () => client.invalidateQueries({ queryKey: asked.queryKey }),
  })
  const setPreferences = (change: Partial<Preferences>) => {
    const next = { ...client.getQueryData(asked.queryKey), ...change }
    client.setQueryData(asked.queryKey, next)
    mutate(next)
  }
  return { preferences: data ?? {}, setPreferences }
}
