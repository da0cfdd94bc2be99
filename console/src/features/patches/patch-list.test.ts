import { describe, expect, it } from 'vitest'
import type { Patch } from '#contract/patches.ts'
import { deletionText, layerOf, matches, sorted, weightText } from './patch-list.ts'

const patch = (name: string, weight: number, more: Partial<Patch> = {}): Patch => ({
  patch_id: `id-${name}`,
  node_id: 'n',
  name,
  weight,
  labels: {},
  body: '',
  read_only: false,
  version: 1,
  created_at: null,
  updated_at: null,
  created_by: null,
  ...more,
})

describe('the patches table', () => {
  it('patches are searched by name, id and label', () => {
    const jumbo = patch('jumbo-frames', 500, { labels: { net: 'storage' } })
    expect(['', 'JUMBO', 'id-j', 'net=st'].map((q) => matches(jumbo, q))).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect(matches(jumbo, 'net=x')).toBe(false)
  })

  it('the patches table shows the layer with the highest precedence first, or is sorted by a column', () => {
    const layers = [patch('static-system', -999), patch('b', 500), patch('a', 500), patch('c', 520)]
    expect(sorted(layers, undefined).map((p) => p.name)).toEqual(['c', 'a', 'b', 'static-system'])
    expect(sorted(layers, 'name').map((p) => p.name)).toEqual(['a', 'b', 'c', 'static-system'])
    expect(sorted(layers, 'colour').map((p) => p.weight)).toEqual([-999, 500, 500, 520])
  })

  it('each line of the configuration shows the layer that it comes from', () => {
    expect(layerOf('id-c', [patch('c', 520)])).toEqual({ name: 'c', weight: 520 })
    expect(layerOf('default-node', [])).toEqual({ name: 'default-node', weight: -888 })
    expect(layerOf('generated', [])).toEqual({ name: 'generated', weight: null })
    expect(weightText(-888)).toBe('−888')
  })
})

it('the dialog says that deleting a patch is permanent and which configuration the server gets', () => {
  expect(deletionText({ name: 'brave-otter-042', cluster: null })).toBe(
    'It is deleted for good. When brave-otter-042 joins a cluster, it gets its configuration without this patch.',
  )
  expect(deletionText({ name: 'brave-otter-042', cluster: { name: 'prod' } })).toContain(
    'is applied at once',
  )
})
