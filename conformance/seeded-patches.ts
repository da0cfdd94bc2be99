/**
 * Pairs of documents of one kind, with a few fields each, chosen by a seeded generator: the second
 * one is merged into the first one, in a patch of its own or in the same one, or deletes it or a
 * part of it. Most values are such as the field wants, so that Talos takes the result.
 */
import { stringify } from 'yaml'
import { type DocumentShape, documentShapes } from '#talos/config/model/documents.ts'
import type { Shape } from '#talos/config/model/shape.ts'
import { isSince } from '#talos/versions.ts'
import type { PatchCase } from './compare.ts'

/** Number of pairs. */
const pairs = 1500

/** Numbers from 0 to below 1, the same in every run (mulberry32). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

const pem = '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n'
/** Values of texts, by what their key or path is called. The first that fits. */
const texts: readonly (readonly [RegExp, readonly string[]])[] = [
  [/match$/, ['disk.size > 1u', 'disk.transport == "nvme"', 'true']],
  [/triggerExpression$/, ['true', 'memory_full_avg10 > 12.0']],
  [/RankingExpression$/, ['1.0', 'double(class)']],
  [/certificates?$/i, [pem]],
  [
    /(TCPProbe|EventSink|KubeSpanEndpoints)Config\.\w*endpoints?$/i,
    ['10.0.0.2:5000', '10.0.0.3:514'],
  ],
  [
    /(interval|timeout|Interval|Timeout|Duration|lifetime|period)/i,
    ['5s', '1m0s', '0s', '24h0m0s'],
  ],
  [/(size|Size)$/, ['10GiB', '100GiB', '50%', '20GB']],
  [
    /(url|URL|URI|apiUrl)$/,
    ['https://a.example/x?y=z', 'https://b.example:8443', 'http://c.example/'],
  ],
  [
    /endpoint$/i,
    ['https://a.example/x', 'https://b.example:8443', '10.0.0.2:5000', 'a.example:514'],
  ],
  [/(hardwareAddr|mac)/i, ['00:1a:2b:3c:4d:5e', '00:1a:2b:3c:4d:5f']],
  [
    /(address|gateway|source|nameservers|neighbors|peerIP|routerID)/i,
    ['10.1.2.3', '10.1.2.4', '10.1.2.0/24', 'fd00::1'],
  ],
  [
    /(subnet|destination|prefix|cidr|networks)/i,
    ['10.1.0.0/16', '10.2.0.0/16', 'fd00::/64', '10.3.0.0/24'],
  ],
  [/image$/i, ['registry.k8s.io/kube-proxy:v1.35.4', 'docker.io/library/nginx:1.27', 'ghcr.io/*']],
  [/(domains?|hostname|host|dnsDomain|SANs?)/, ['a.example', 'b.example']],
  [/(path|Path|destination)$/, ['/var/lib/a', '/var/lib/b']],
  [/(taints?|labels?|annotations?)/i, ['value:NoSchedule', 'value']],
]
const keys = ['a', 'b', 'c.example/d']

class Values {
  readonly #random: () => number
  constructor(random: () => number) {
    this.#random = random
  }

  chance(share: number): boolean {
    return this.#random() < share
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.#random() * values.length)]!
  }

  of(shape: Shape, path: string): unknown {
    switch (shape.is) {
      case 'text':
        if (shape.values !== undefined) return this.pick(shape.values)
        if (shape.bytes === true) return this.pick(['Zm9v', 'YmFy'])
        return this.pick(texts.find(([key]) => key.test(path))?.[1] ?? ['text', 'other', 'eno1'])
      case 'integer':
        return this.pick([0, 1, 2, 5, 80, 1500].filter((value) => value >= (shape.min ?? 0)))
      case 'flag':
        return this.chance(0.5)
      case 'free':
        // Of two wrong resources Talos names any, in the order of a map.
        if (path.includes('.resources'))
          return this.pick([{ cpu: '100m' }, { memory: '1Gi' }, { cpu: '1' }])
        return this.pick([
          { a: { b: 1 } },
          { a: { c: [1, 2] } },
          { d: 'e' },
          { a: { c: [3] }, d: '' },
        ])
      case 'argument':
        return this.pick(['x', ['x', 'y'], 'z'])
      case 'port':
        return this.pick([80, '80-90', 443])
      case 'list': {
        const items = Array.from({ length: this.pick([0, 1, 1, 2]) }, () => this.of(shape.of, path))
        return items
      }
      case 'map':
        return Object.fromEntries(
          keys
            .filter(() => this.chance(0.5))
            .map((key) => [key, this.of(shape.of, `${path}.${key}`)]),
        )
      default:
        return this.fields(shape.fields, path, 0.5)
    }
  }

  fields(shapes: Readonly<Record<string, Shape>>, path: string, share: number) {
    return Object.fromEntries(
      Object.entries(shapes)
        .filter(() => this.chance(share))
        .map(([key, shape]) => [key, this.of(shape, `${path}.${key}`)]),
    )
  }
}

const yaml = (value: unknown) => stringify(value, { lineWidth: 0 })

/** The seeded pairs, which Talos 1.14 is asked. `required`: fields without which a kind isn't loaded. */
export function seededPatches(required: Readonly<Record<string, object>>): PatchCase[] {
  const shapes = [...documentShapes.values()]
  const found: PatchCase[] = []
  for (let seed = 1; seed <= pairs; seed++) {
    const values = new Values(generator(seed))
    found.push(pairOf(seed, values.pick(shapes), values, required))
  }
  return found
}

function pairOf(
  seed: number,
  { kind, named, shape, since, controlPlaneOnly }: DocumentShape,
  values: Values,
  required: Readonly<Record<string, object>>,
): PatchCase {
  const head = { apiVersion: 'v1alpha1', kind, ...(named ? { name: 'thing' } : {}) }
  const { apiVersion: _version, kind: _kind, name: _name, ...rest } = shape.fields
  const count = Math.max(1, Object.keys(rest).length)
  const one = () => values.fields(rest, kind, Math.min(0.5, 2 / count))
  const first = yaml({ ...head, ...required[kind], ...one() })
  const second = yaml({ ...head, ...(values.chance(0.5) ? required[kind] : {}), ...one() })
  const deleted = yaml({ ...head, $patch: 'delete' })
  const inner = yaml({
    ...head,
    [values.pick(Object.keys(rest).concat('apiVersion'))]: { $patch: 'delete' },
  })
  const isNew = since !== undefined && isSince(since, '1.14')
  const base = isNew
    ? `${controlPlaneOnly === true || values.chance(0.5) ? 'controlplane' : 'worker'} of documents`
    : values.pick(['worker', 'worker of documents'])
  const [how, patches] = values.pick<readonly [string, string[]]>([
    ['merged', [first, second]],
    ['merged', [first, second]],
    ['merged', [first, second]],
    ['in one patch', [`${first}---\n${second}`]],
    ['deleted', [first, deleted]],
    ['deleted in part', [first, inner]],
    ['deleted unseen', [deleted]],
    ['deleted in part unseen', [inner]],
    ['deleted in one patch', [`${first}---\n${deleted}`]],
    ['made anew', [first, `${deleted}---\n${second}`]],
  ])
  return { id: `seeded ${seed}: ${kind} ${how}`, base, patches, since: '1.14' }
}
