// @vitest-environment happy-dom
import * as fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import * as z from 'zod/mini'
import { Resources } from '#contract/servers/servers.ts'
import { readResources, resourcesOf } from './one-server.ts'

const empty = { node_addresses: [], processors: [], memory: [], disks: [], interfaces: [] }

afterEach(() => vi.restoreAllMocks())

describe('resources of a server', () => {
  it('the resources of a server can be an object, in which missing lists are empty', () => {
    expect(readResources({ disks: [{ id: 'sda', size: 5 }] })).toEqual({
      ...empty,
      disks: [{ id: 'sda', size: 5 }],
    })
  })

  it('the resources of a server can be a JSON text', () => {
    expect(readResources('{"node_addresses":["10.0.0.1"]}')).toEqual({
      ...empty,
      node_addresses: ['10.0.0.1'],
    })
  })

  it('resources that break the schema count as empty, with a logged warning', () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    expect(readResources({ disks: [{ size: 'big' }] })).toEqual(empty)
    expect(readResources('"a string"')).toEqual(empty)
    expect(warned).toHaveBeenCalledTimes(2)
  })

  it('resources are accepted if and only if the schema of the contract accepts them', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null))
    const fitting = (field: z.core.$ZodType) =>
      [0, 'text', true].find((value) => z.safeParse(field, value).success)
    const { node_addresses: _, ...lists } = Resources.shape
    for (const [list, { _zod }] of Object.entries(lists)) {
      const fields = Object.entries(_zod.def.innerType._zod.def.element.shape)
      const item = fc.record(
        Object.fromEntries(fields.map(([field, schema]) => [field, fc.constant(fitting(schema))])),
        { requiredKeys: [] },
      )
      const wrong = fc
        .tuple(item, fc.constantFrom(...fields), scalar)
        .map(([one, [field], value]) => ({ ...one, [field]: value }))
      fc.assert(
        fc.property(
          fc.oneof(fc.array(fc.oneof(item, wrong), { maxLength: 3 }), scalar),
          (value) => {
            const read = z.safeParse(Resources, { [list]: value })
            expect(readResources({ [list]: value })).toEqual(read.success ? read.data : empty)
          },
        ),
      )
    }
  })

  it('resources are null if the text is not JSON', () => {
    expect(readResources('{')).toBeNull()
    expect(resourcesOf('{')).toEqual(empty)
  })
})
