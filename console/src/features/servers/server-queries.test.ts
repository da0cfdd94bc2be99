// @vitest-environment happy-dom
import { afterEach, describe, expect, it, vi } from 'vitest'
import { readResources, resourcesOf } from './server-queries.ts'

const empty = { node_addresses: [], processors: [], memory: [], disks: [], interfaces: [] }

afterEach(() => vi.restoreAllMocks())

describe('resources of a server', () => {
  it('the resources of a server can be an object, in which missing lists are empty', () => {
    expect(readResources({ disks: [{ id: 'sda', size: 5 }] })).toEqual({ ...empty, disks: [{ id: 'sda', size: 5 }] })
  })

  it('the resources of a server can be a JSON text', () => {
    expect(readResources('{"node_addresses":["10.0.0.1"]}')).toEqual({ ...empty, node_addresses: ['10.0.0.1'] })
  })

  it('resources that break the schema count as empty, with a logged warning', () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    expect(readResources({ disks: [{ size: 'big' }] })).toEqual(empty)
    expect(readResources('"a string"')).toEqual(empty)
    expect(warned).toHaveBeenCalledTimes(2)
  })

  it('resources are null if the text is not JSON', () => {
    expect(readResources('{')).toBeNull()
    expect(resourcesOf('{')).toEqual(empty)
  })
})
