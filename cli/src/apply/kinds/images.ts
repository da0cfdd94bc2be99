import { isDeepStrictEqual } from 'node:util'
import type { ImageDocument, JoinTokenDocument } from '#contract/apply/documents.ts'
import {
  canPutServersIn,
  type Image,
  imageCreate,
  imageRemove,
  ownKernelArgs,
} from '#contract/images.ts'
import type { JoinToken } from '#contract/join-tokens.ts'
import {
  demandDatacenter,
  documentsOf,
  fieldsOf,
  keyOf,
  planner,
  type Planning,
  planRemoval,
  ranks,
  refuse,
} from '../plan.ts'
import type { Placed } from '../files.ts'

const nameOf = ({
  talos_version,
  arch,
  secureboot,
  format,
  token,
  datacenter,
}: ImageDocument): string =>
  [
    `Talos ${talos_version.replace(/^v?/, 'v')}`,
    arch,
    ...(secureboot ? ['SecureBoot'] : []),
    format,
    ...(token ? [`with ${token}`] : []),
    ...(datacenter ? [`for ${datacenter}`] : []),
  ].join(' ')

/**
 * The part of an image that is compared. `datacenter`: an image without one is for the datacenter
 * of its join token.
 */
const contentsOf = (
  { kind: _kind, token: _token, talos_version, extensions, ...fields }: ImageDocument,
  tokenDatacenter: string | null,
) => ({
  ...fields,
  talos_version: talos_version.replace(/^v/, ''),
  extensions: [...new Set(extensions)].toSorted(),
  datacenter: fields.datacenter ?? tokenDatacenter,
})

const documentOf = (i: Image): ImageDocument => ({
  kind: 'image',
  talos_version: i.talos_version,
  arch: i.arch,
  secureboot: i.secureboot,
  extensions: i.extensions,
  kernel_args: ownKernelArgs(i),
  format: i.format,
  datacenter: i.datacenter?.code ?? null,
  token: i.token?.name ?? null,
  early: i.early?.documents ?? null,
})

/** The join token of an image after the run: a present one, or one that a document creates. */
interface Token {
  /** Null if the run creates the token. */
  readonly id: string | null
  readonly name: string
  readonly datacenter: string | null
}

async function tokenFinder(planning: Planning): Promise<(name: string) => Token | undefined> {
  const byName = new Map<string, Token>()
  for (const { document } of documentsOf<JoinTokenDocument>(planning, 'join-token'))
    byName.set(document.name, { id: null, name: document.name, datacenter: document.datacenter })
  const present = (await planning.world.joinTokens()).filter(
    (t: JoinToken) => t.status !== 'revoked',
  )
  for (const { id, name, datacenter } of present)
    byName.set(name, { id, name, datacenter: datacenter?.code ?? null })
  return (name) => byName.get(name)
}

/** Whether datacenter and token of the document exist and fit together. Adds a problem if not. */
async function fits(
  planning: Planning,
  placed: Placed<ImageDocument>,
  token: Token | undefined,
): Promise<boolean> {
  const { datacenter, token: name } = placed.document
  if (datacenter !== null && !(await demandDatacenter(planning, placed, datacenter))) return false
  if (name === null) return true
  if (!planning.referred.has(keyOf('join-token', name)))
    planning.referred.set(keyOf('join-token', name), placed)
  if (!token) {
    refuse(
      planning,
      placed,
      `There is no join token ${name}, and no document describes it`,
      'token',
    )
    return false
  }
  const asCode = (code: string | null) => (code === null ? null : { id: code, code })
  const verdict = canPutServersIn(
    { name, datacenter: asCode(token.datacenter) },
    asCode(datacenter),
  )
  if (!verdict.ok) refuse(planning, placed, verdict.reason, 'datacenter')
  return verdict.ok
}

export const images = planner<ImageDocument>({
  kind: 'image',
  appliedKind: 'image',
  nameOf: (document) =>
    JSON.stringify([
      nameOf(document),
      [...document.extensions].toSorted(),
      document.kernel_args,
      document.early,
    ]),

  async plan(planning, placed) {
    const findToken = await tokenFinder(planning)
    const free = new Set(await planning.world.images())
    for (const one of placed) {
      const { document } = one
      const token = document.token === null ? undefined : findToken(document.token)
      if (!(await fits(planning, one, token))) continue
      const wanted = contentsOf(document, token?.datacenter ?? null)
      const known = [...free].find(
        (image) =>
          (document.token === null
            ? image.token === null
            : token?.id !== null && image.token?.id === token?.id) &&
          isDeepStrictEqual(
            contentsOf(documentOf(image), image.token && (token?.datacenter ?? null)),
            wanted,
          ),
      )
      if (known) {
        free.delete(known)
        planning.described.add(keyOf('image', known.id))
        planning.plan.unchanged++
        continue
      }
      planning.plan.steps.push({
        kind: 'image',
        name: nameOf(document),
        placed: one,
        rank: ranks.image,
        does: 'create',
        changes: fieldsOf(document),
        async run(run) {
          const { kind: _kind, datacenter, token: tokenName, ...fields } = document
          const body = {
            ...fields,
            datacenter_id: datacenter === null ? null : await run.idOf('datacenter', datacenter),
            token_id: tokenName === null ? null : await run.idOf('join-token', tokenName),
          }
          await run.call(imageCreate, { body })
        },
      })
    }
  },

  async prune(planning, applied) {
    const now = new Map((await planning.world.images()).map((i) => [i.id, i]))
    for (const { id } of applied) {
      const known = now.get(id)
      if (known)
        planRemoval(planning, {
          kind: 'image',
          name: nameOf(documentOf(known)),
          note: 'its links keep working',
          rank: ranks.imageRemove,
          run: async (run) => run.call(imageRemove, { params: { id } }),
        })
    }
  },

  async export(world, tell) {
    const all = await world.images()
    const lasting = all.filter(({ token }) => token === null || token.status === 'usable')
    for (const image of all)
      if (!lasting.includes(image))
        tell(
          `The image ${nameOf(documentOf(image))} is left out, because its join token can no longer be used`,
        )
    const documents = lasting.map(documentOf)
    const seen = new Set<string>()
    // An image that was prepared twice is one document.
    return documents.filter((document) => {
      const text = JSON.stringify(document)
      return !seen.has(text) && seen.add(text)
    })
  },
})
