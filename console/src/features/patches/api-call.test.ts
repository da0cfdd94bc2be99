import { describe, expect, it } from 'vitest'
import { curlOf } from './api-call.ts'

describe('a form as a call of the API', () => {
  it('is one line for a shell, quoted', () => {
    expect(
      curlOf(
        { method: 'PATCH', path: '/v1/nodes/{id}/patches/{patchId}' },
        { id: 'a b', patchId: 'p' },
        { body: "it's: 1" },
        { origin: 'https://s.example', version: 3 },
      ),
    ).toBe(
      `curl -X PATCH 'https://s.example/v1/nodes/a%20b/patches/p' -H "Authorization: Bearer $STEELYARD_TOKEN" -H 'Content-Type: application/json' -H 'If-Match: "3"' -d '{"body":"it'\\''s: 1"}'`,
    )
  })
})
