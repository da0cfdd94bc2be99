import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { EtcdCluster } from '../cluster/etcd.ts'
import type { StoredObject } from '../cluster/stored.ts'
import { type Body, isObject, list, object, text } from '../config/shape.ts'
import { applyFields, defaulted, normal, withoutStatus } from './changing/apply.ts'
import { apiVersionOf, BUILT_IN, builtIn, type ResourceKind, type Target } from './kinds.ts'
import { METALLB_POOLS } from './balancing/definitions.ts'
import { refusedPool } from './balancing/metallb.ts'
import { FIRST_OBJECTS } from './defaults.ts'
import { decrypt, type Keys } from './encryption.ts'
import { historyOf } from './history.ts'
import { badRequest, conflict, notFound, Refusal } from './refusal.ts'

/** The objects of a cluster, persisted in its etcd before each response. */
export class Objects {
  readonly #cluster: EtcdCluster
  readonly #now: () => number
  readonly #keys: Keys | null

  /**
   * `keys`: the keys of the API server that reads and writes. Without them, Secrets with any key
   * can be read.
   */
  constructor(cluster: EtcdCluster, now: () => number, keys: Keys | null = null) {
    this.#cluster = cluster
    this.#now = now
    this.#keys = keys
    if (Object.keys(cluster.state.kubernetes.objects).length > 0) return
    this.together(() => {
      for (const { plural, body } of FIRST_OBJECTS)
        this.create(builtIn(plural), '', body, 'kube-apiserver')
    })
  }

  /** Every kind, including custom ones. */
  get kinds(): ResourceKind[] {
    const custom = this.#stored('apiextensions.k8s.io/customresourcedefinitions/').flatMap(
      ({ body }) => {
        const spec = object(body.spec)
        const names = object(spec.names)
        return list(spec.versions)
          .map(object)
          .filter(({ served }) => served !== false)
          .map((version) => ({
            group: text(spec.group),
            version: text(version.name),
            plural: text(names.plural),
            kind: text(names.kind),
            namespaced: spec.scope !== 'Cluster',
            hasStatus: isObject(object(version.subresources).status),
            shortNames: list(names.shortNames).map(text),
            categories: list(names.categories).map(text),
          }))
      },
    )
    return [...BUILT_IN, ...custom]
  }

  /** The definition of a custom kind. */
  definitionOf({ group, plural }: ResourceKind): Body | undefined {
    return group === ''
      ? undefined
      : this.#objects[`apiextensions.k8s.io/customresourcedefinitions/${plural}.${group}`]?.body
  }

  get resourceVersion(): string {
    return String(this.#cluster.state.kubernetes.resourceVersion)
  }

  list(kind: ResourceKind, namespace: string): Body[] {
    const found = this.#stored(
      `${kind.group}/${kind.plural}/${namespace === '' ? '' : `${namespace}/`}`,
    )
    if (this.#keys) for (const stored of found) decrypt(stored, this.#keys)
    return found.map(({ body }) => body)
  }

  has(target: Target): boolean {
    return this.#objects[keyOf(target)] !== undefined
  }

  /** Persists all changes of `act` in one write. */
  together(act: () => void): void {
    this.#cluster.together(act)
  }

  get(target: Target): Body {
    const stored = this.#objects[keyOf(target)]
    if (!stored) throw notFound(qualified(target.kind), target.name)
    if (this.#keys) decrypt(stored, this.#keys)
    return stored.body
  }

  create(
    kind: ResourceKind,
    namespace: string,
    given: Body,
    manager: string,
    dryRun = false,
  ): Body {
    const name =
      text(object(given.metadata).name) ||
      (text(object(given.metadata).generateName) &&
        `${text(object(given.metadata).generateName)}${randomUUID().slice(0, 5)}`)
    const target = this.#checked({ kind, namespace, name }, given)
    if (this.#objects[keyOf(target)])
      throw new Refusal(409, 'AlreadyExists', `${qualified(kind)} "${name}" already exists`)
    const made = applyFields(null, withoutStatus(kind, normal(kind, given)), manager, false)
    return this.#put(
      target,
      { body: this.#fresh(target, made.body), managers: made.managers },
      dryRun,
    )
  }

  replace(target: Target, given: Body, manager: string, dryRun = false): Body {
    const existing = this.get(target)
    this.#checked(target, given)
    const wanted = text(object(given.metadata).resourceVersion)
    if (wanted !== '' && wanted !== text(object(existing.metadata).resourceVersion))
      throw conflict(
        `Operation cannot be fulfilled on ${qualified(target.kind)} "${target.name}": the object has been modified; please apply your changes to the latest version and try again`,
      )
    const body = withoutStatus(target.kind, normal(target.kind, given))
    const kept = object(existing.metadata)
    const made = applyFields(null, body, manager, false)
    return this.#put(
      target,
      {
        body: defaulted(target.kind, target.name, {
          ...made.body,
          ...(target.kind.hasStatus &&
            existing.status !== undefined && { status: existing.status }),
          apiVersion: existing.apiVersion,
          kind: existing.kind,
          metadata: {
            ...object(made.body.metadata),
            name: kept.name,
            ...(kept.namespace !== undefined && { namespace: kept.namespace }),
            uid: kept.uid,
            creationTimestamp: kept.creationTimestamp,
            ...(kept.generation !== undefined && { generation: kept.generation }),
          },
        }),
        managers: made.managers,
      },
      dryRun,
    )
  }

  /**
   * Server-side apply: creates or changes the object. Throws a conflict if another manager owns a
   * changed field.
   */
  apply(
    target: Target,
    given: Body,
    manager: string,
    force: boolean,
    dryRun = false,
  ): { body: Body; created: boolean } {
    this.#checked(target, given)
    const existing = this.#objects[keyOf(target)] ?? null
    this.#declared(target, given)
    const merged = applyFields(
      existing,
      withoutStatus(target.kind, normal(target.kind, given)),
      manager,
      force,
    )
    return {
      body: this.#put(
        target,
        existing ? merged : { body: this.#fresh(target, merged.body), managers: merged.managers },
        dryRun,
      ),
      created: existing === null,
    }
  }

  remove(target: Target, dryRun = false): Body {
    const body = this.get(target)
    if (
      target.kind.plural === 'namespaces' &&
      ['default', 'kube-system', 'kube-public', 'kube-node-lease'].includes(target.name)
    )
      throw new Refusal(
        403,
        'Forbidden',
        `namespaces "${target.name}" is forbidden: this namespace may not be deleted`,
      )
    if (dryRun) return body
    const gone = this.#within(target, body)
    this.#cluster.change(({ kubernetes }) => {
      kubernetes.resourceVersion++
      for (const key of [keyOf(target), ...gone]) {
        const [group = '', plural = '', ...rest] = key.split('/')
        const before = kubernetes.objects[key]!.body
        delete kubernetes.objects[key]
        const namespace = rest.length > 1 ? rest[0]! : ''
        historyOf(this.#cluster).add({
          version: kubernetes.resourceVersion,
          kind: { group, plural },
          namespace,
          before,
          after: null,
        })
      }
    })
    return body
  }

  /**
   * Sets only the status, which doesn't increase the generation. What the manager applies besides is
   * owned apart from it.
   */
  setStatus(target: Target, status: Body, manager: string): void {
    const stored = this.#objects[keyOf(target)]
    if (!stored) return
    this.#put(
      target,
      {
        body: { ...stored.body, status },
        managers: { ...stored.managers, [`${manager} status`]: ['status'] },
      },
      false,
    )
  }

  /** Sets the status if it differs. */
  updateStatus(target: Target, status: Body, manager: string): void {
    if (this.has(target) && !isDeepStrictEqual(this.get(target).status, status))
      this.setStatus(target, status, manager)
  }

  /** Increases an object's version because its computed fields have changed. */
  touch(target: Target): void {
    const stored = this.#objects[keyOf(target)]
    if (stored) this.#put(target, stored, false)
  }

  setAnnotations(target: Target, annotations: Body): void {
    this.setMetadata(target, { annotations })
  }

  setMetadata(target: Target, fields: Body): void {
    const stored = this.#objects[keyOf(target)]
    if (stored)
      this.#put(
        target,
        {
          ...stored,
          body: { ...stored.body, metadata: { ...object(stored.body.metadata), ...fields } },
        },
        false,
      )
  }

  /** Binds a pod to a node. */
  bind(target: Target, nodeName: string): void {
    const stored = this.#objects[keyOf(target)]
    if (stored)
      this.#put(
        target,
        { ...stored, body: { ...stored.body, spec: { ...object(stored.body.spec), nodeName } } },
        false,
      )
  }

  /** Keys of the objects that are deleted with a namespace or with the definition of their kind. */
  #within({ kind, name }: Target, body: Body): string[] {
    const keys = Object.keys(this.#objects)
    if (kind.plural === 'namespaces')
      return keys.filter((key) => key.split('/').length > 3 && key.split('/')[2] === name)
    if (kind.plural !== 'customresourcedefinitions') return []
    const { group, names } = object(body.spec)
    return keys.filter((key) => key.startsWith(`${text(group)}/${text(object(names).plural)}/`))
  }

  get #objects(): Record<string, StoredObject> {
    return this.#cluster.state.kubernetes.objects
  }

  #stored(prefix: string): StoredObject[] {
    return Object.entries(this.#objects)
      .filter(([key]) => key.startsWith(prefix))
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, stored]) => stored)
  }

  #checked(target: Target, given: Body): Target {
    const { kind, namespace, name } = target
    const metadata = object(given.metadata)
    if (given.kind !== undefined && given.kind !== kind.kind)
      throw badRequest(
        `the object provided is unrecognized: kind ${text(given.kind)} is not ${kind.kind}`,
      )
    if (given.apiVersion !== undefined && given.apiVersion !== apiVersionOf(kind))
      throw badRequest(
        `the API version in the data (${text(given.apiVersion)}) does not match the expected API version (${apiVersionOf(kind)})`,
      )
    if (text(metadata.name) !== '' && text(metadata.name) !== name)
      throw badRequest('the name of the object does not match the name on the URL')
    if (text(metadata.namespace) !== '' && text(metadata.namespace) !== namespace)
      throw badRequest(
        'the namespace of the provided object does not match the namespace sent on the request',
      )
    if (!/^[a-z0-9]([-a-z0-9.:]{0,251}[a-z0-9])?$/.test(name))
      throw new Refusal(
        422,
        'Invalid',
        `${kind.kind} "${name}" is invalid: metadata.name: Invalid value: "${name}"`,
      )
    if (
      kind.namespaced &&
      !this.#objects[keyOf({ kind: BUILT_IN[0]!, namespace: '', name: namespace })]
    )
      throw notFound('namespaces', namespace)
    return target
  }

  #fresh({ kind, namespace, name }: Target, body: Body): Body {
    const metadata = {
      ...object(body.metadata),
      name,
      ...(kind.namespaced && { namespace }),
      uid: randomUUID(),
      creationTimestamp: new Date(this.#now()).toISOString().replace(/\.\d+Z$/, 'Z'),
    }
    return defaulted(kind, name, {
      ...body,
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata,
    })
  }

  #put(target: Target, stored: StoredObject, dryRun: boolean): Body {
    const { kubernetes } = this.#cluster.state
    const next = kubernetes.resourceVersion + 1
    const generation = this.#generationOf(target, stored.body)
    const metadata = {
      ...object(stored.body.metadata),
      resourceVersion: String(next),
      ...(generation !== null && { generation }),
    }
    const body = { ...stored.body, metadata }
    this.#admit(target, body)
    if (dryRun) return body
    const before = kubernetes.objects[keyOf(target)]?.body ?? null
    const isSecret = target.kind.plural === 'secrets' && target.kind.group === ''
    const key = isSecret
      ? this.#keys
        ? this.#keys[0]
        : kubernetes.objects[keyOf(target)]?.key
      : undefined
    this.#cluster.change((state) => {
      state.kubernetes.resourceVersion = next
      state.kubernetes.objects[keyOf(target)] = {
        body,
        managers: stored.managers,
        ...(key !== undefined && { key }),
      }
    })
    historyOf(this.#cluster).add({
      version: next,
      kind: target.kind,
      namespace: target.namespace,
      before,
      after: body,
    })
    return body
  }

  /** The generation, which counts changes of the spec; null for kinds without one. */
  #generationOf({ kind, namespace, name }: Target, body: Body): number | null {
    const isCounted = kind.group !== '' && kind.group !== 'rbac.authorization.k8s.io'
    if (!isCounted) return null
    const before = this.#objects[keyOf({ kind, namespace, name })]?.body
    if (!before) return 1
    const wish = (whole: Body): Body => ({ ...whole, metadata: null, status: null })
    return (
      Number(object(before.metadata).generation ?? 1) +
      (isDeepStrictEqual(wish(before), wish(body)) ? 0 : 1)
    )
  }

  /** Refuses fields that a custom kind's schema doesn't have. */
  #declared({ kind, namespace, name }: Target, given: Body): void {
    const version = list(object(this.definitionOf(kind)?.spec).versions)
      .map(object)
      .find((candidate) => candidate.name === kind.version)
    const declared = object(
      object(object(object(object(version?.schema).openAPIV3Schema).properties).spec).properties,
    )
    const unknown =
      Object.keys(declared).length === 0
        ? undefined
        : Object.keys(object(given.spec)).find((field) => !(field in declared))
    if (unknown !== undefined)
      throw new Refusal(
        500,
        '',
        `failed to create typed patch object (${namespace}/${name}; ${apiVersionOf(kind)}, Kind=${kind.kind}): .spec.${unknown}: field not declared in schema`,
      )
  }

  /** Runs MetalLB's webhook for its pools. */
  #admit({ kind, namespace, name }: Target, body: Body): void {
    if (kind.group !== METALLB_POOLS.group || kind.plural !== METALLB_POOLS.plural) return
    const reason = refusedPool(name, object(body.spec), this.list(METALLB_POOLS, namespace))
    if (reason !== null)
      throw new Refusal(
        403,
        'Forbidden',
        `admission webhook "ipaddresspoolvalidationwebhook.metallb.io" denied the request: ${reason}`,
      )
  }
}

const keyOf = ({ kind, namespace, name }: Target): string =>
  `${kind.group}/${kind.plural}/${kind.namespaced ? namespace : ''}${kind.namespaced ? '/' : ''}${name}`

const qualified = ({ plural, group }: ResourceKind): string =>
  group === '' ? plural : `${plural}.${group}`
