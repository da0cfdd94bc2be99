import { describe, expect, it } from 'vitest'
import { hint, nodesAt, placeAt, type SchemaNode, suggestions } from './schema-at.ts'

const schema: SchemaNode = {
  anyOf: [{ $ref: '#/$defs/v1alpha1' }, { $ref: '#/$defs/LinkConfig' }],
  $defs: {
    v1alpha1: {
      type: 'object',
      properties: {
        machine: { $ref: '#/$defs/machine' },
        cluster: { type: 'object', description: 'The cluster.', properties: {} },
      },
    },
    machine: {
      type: 'object',
      description: 'The machine.',
      properties: {
        sysctls: {
          type: 'object',
          description: 'Kernel parameters.',
          additionalProperties: { type: 'string', description: 'A kernel parameter.' },
        },
        network: {
          type: 'object',
          properties: { interfaces: { type: 'array', items: { $ref: '#/$defs/device' } } },
        },
        kubelet: { type: 'object', properties: { registerWithFQDN: { type: 'boolean' } } },
      },
    },
    device: {
      type: 'object',
      properties: {
        interface: { type: 'string' },
        mtu: { type: 'integer', description: 'Largest packet.' },
        mode: { enum: ['fast', 'slow'] },
        vlans: {
          type: 'array',
          items: { type: 'object', properties: { vlanId: { type: 'integer' } } },
        },
      },
    },
    LinkConfig: {
      type: 'object',
      properties: {
        apiVersion: { const: 'v1alpha1' },
        kind: { const: 'LinkConfig' },
        name: { type: 'string' },
        up: { type: 'boolean' },
      },
    },
  },
}

/** `|` is the cursor. */
function at(text: string) {
  const lines = text.split('\n')
  const line = lines.findIndex((l) => l.includes('|'))
  const column = lines[line]!.indexOf('|')
  lines[line] = lines[line]!.replace('|', '')
  return placeAt(lines, line, column)
}
const offered = (text: string) => suggestions(schema, at(text)).map((s) => s.label)

describe('the path at the cursor', () => {
  it('the path at the cursor consists of the keys above it, by their indentation', () => {
    expect(at('machine:\n  network:\n    |').path).toEqual(['machine', 'network'])
    expect(at('machine:\n  network:\n  |').path).toEqual(['machine'])
    expect(at('machine:\n  sysctls:\n    a: b\n\n  # remark\n  |')).toMatchObject({
      path: ['machine'],
      siblings: ['sysctls'],
      inValue: false,
    })
  })

  it('the path at the cursor includes list elements', () => {
    expect(
      at('machine:\n  network:\n    interfaces:\n      - interface: eth0\n        |').path,
    ).toEqual(['machine', 'network', 'interfaces', '[]'])
    expect(at('machine:\n  network:\n    interfaces:\n      - mt|').path).toEqual([
      'machine',
      'network',
      'interfaces',
      '[]',
    ])
    expect(
      at(
        'machine:\n  network:\n    interfaces:\n    - interface: eth0\n      vlans:\n      - vlanId: 5\n        |',
      ).path,
    ).toEqual(['machine', 'network', 'interfaces', '[]', 'vlans', '[]'])
    expect(
      at(
        'machine:\n  network:\n    interfaces:\n      - interface: eth0\n      - interface: eth1\n        mtu: |',
      ).path,
    ).toEqual(['machine', 'network', 'interfaces', '[]', 'mtu'])
  })

  it('in a file of several YAML documents, the path at the cursor is within the document of the cursor, and the kind of that document is found', () => {
    expect(
      at('machine:\n  network: {}\n---\napiVersion: v1alpha1\nkind: LinkConfig\n|'),
    ).toMatchObject({
      path: [],
      kind: 'LinkConfig',
      siblings: ['apiVersion', 'kind'],
    })
  })
})

describe('the suggestions at the cursor', () => {
  it('the suggested keys are those that are not present yet', () => {
    expect(offered('|')).toEqual(['machine', 'cluster', 'apiVersion', 'kind', 'name', 'up'])
    expect(offered('machine:\n  |')).toEqual(['sysctls', 'network', 'kubelet'])
    expect(
      offered('machine:\n  network:\n    interfaces:\n      - interface: eth0\n        |'),
    ).toEqual(['mtu', 'mode', 'vlans'])
    expect(offered('machine: {}\n|')).toEqual(['cluster'])
    expect(offered('apiVersion: v1alpha1\n|')).toEqual(['kind', 'name', 'up'])
    expect(offered('kind: LinkConfig\n|')).toEqual(['apiVersion', 'name', 'up'])
  })

  it('the suggested values are those that the key allows', () => {
    expect(offered('machine:\n  kubelet:\n    registerWithFQDN: |')).toEqual(['true', 'false'])
    expect(offered('machine:\n  network:\n    interfaces:\n      - mode: |')).toEqual([
      'fast',
      'slow',
    ])
    expect(offered('machine:\n  sysctls:\n    a: |')).toEqual([])
    expect(offered('apiVersion: v1alpha1\nkind: |')).toEqual(['LinkConfig'])
  })
})

describe('the hint of a key', () => {
  it('the hint of a key has its type and description', () => {
    const lines =
      'machine:\n  sysctls:\n    vm.nr_hugepages: "1024"\n  network:\n    interfaces:\n      - mtu: 9000'.split(
        '\n',
      )
    expect(hint(schema, lines, 0)).toEqual({
      key: 'machine',
      type: 'object',
      text: 'The machine.',
      values: [],
    })
    expect(hint(schema, lines, 2)).toEqual({
      key: 'vm.nr_hugepages',
      type: 'string',
      text: 'A kernel parameter.',
      values: [],
    })
    expect(hint(schema, lines, 5)).toEqual({
      key: 'mtu',
      type: 'integer',
      text: 'Largest packet.',
      values: [],
    })
    expect(hint(schema, ['nonsense:'], 0)).toBeNull()
  })

  it('the hint of a key is found in finite time if the schema is recursive', () => {
    expect(nodesAt({ $ref: '#' }, ['a'], null)).toEqual([])
  })
})
