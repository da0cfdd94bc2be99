import { describe, expect, it } from 'vitest'
import { changes, commandOf, draftOf, emptyDraft, type PatchDraft, readForm } from './patch-form.ts'

const patch = {
  name: 'node-tuning',
  weight: 520,
  labels: { profile: 'render' },
  body: 'machine: {}\n',
}

const problemsOf = (draft: PatchDraft, others: readonly string[]): Record<string, string> => {
  const read = readForm(draft, others)
  return read.ok
    ? {}
    : Object.fromEntries(
        Object.entries(read.fields).map(([path, sentence]) => [path.split('.')[0], sentence]),
      )
}

describe('the patch form', () => {
  it('a patch name follows the rules of server names and is unique on its server', () => {
    const draft = draftOf(patch)
    expect(problemsOf(draft, [])).toEqual({})
    expect(problemsOf({ ...draft, name: 'A' }, [])['name']).toBe(
      'Patch name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
    )
    expect(problemsOf(draft, ['node-tuning'])['name']).toBe(
      'Patch name already exists. Please choose a different name.',
    )
  })

  it('the weight of a patch is a whole number from 0 to 999', () => {
    for (const good of ['0', '999', ' 500 '])
      expect(problemsOf({ ...draftOf(patch), weight: good }, [])['weight']).toBeUndefined()
    for (const bad of ['', '1.5', '1e2', 'x'])
      expect(problemsOf({ ...draftOf(patch), weight: bad }, [])['weight']).toBe(
        'Weight must be a whole number',
      )
    for (const bad of ['-1', '1000'])
      expect(problemsOf({ ...draftOf(patch), weight: bad }, [])['weight']).toBe(
        'Weight must be between 0 and 999',
      )
  })

  it('a patch needs a body and valid labels', () => {
    expect(problemsOf({ ...emptyDraft, name: 'a', body: ' \n' }, [])['body']).toBe('Enter a patch')
    expect(problemsOf({ ...draftOf(patch), labels: { 'no spaces': 'x' } }, [])['labels']).toMatch(
      /^A label key/,
    )
  })

  it('the form of a patch sends only changed fields', () => {
    expect(changes(draftOf(patch), patch)).toEqual({})
    expect(changes({ ...draftOf(patch), weight: '521', labels: {} }, patch)).toEqual({
      weight: 521,
      labels: {},
    })
    expect(changes({ ...draftOf(patch), labels: { profile: 'x' } }, patch)).toEqual({
      labels: { profile: 'x' },
    })
  })

  it('the form of a patch is shown as a CLI command with only the changed fields', () => {
    expect(
      commandOf('web-1', { ...draftOf(patch), weight: '500', body: 'a: 1\nEOF\n' }, null),
    ).toBe(
      "steelyard patch create web-1 node-tuning --weight 500 --label profile=render --file /dev/stdin <<'EOF_'\na: 1\nEOF\nEOF_",
    )
    expect(commandOf('web-1', { ...draftOf(patch), name: 'tuned', labels: {} }, patch)).toBe(
      'steelyard patch edit web-1 node-tuning --name tuned --no-labels',
    )
    expect(commandOf('web-1', { ...draftOf(patch), body: 'b: 2' }, patch)).toBe(
      "steelyard patch edit web-1 node-tuning --file /dev/stdin <<'EOF'\nb: 2\nEOF",
    )
  })
})
