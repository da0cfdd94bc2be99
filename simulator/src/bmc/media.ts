/** Virtual media: images that the BMC shows to the server as a drive. */
import type { Bmc } from './bmc.ts'
import { parameters } from './fields.ts'
import { type Json, Refusal } from './refusal.ts'
import { addCollection, type Answer, document, NO_CONTENT, type Tree } from './tree.ts'

const SLOTS = { CD1: ['CD', 'DVD'], USB1: ['USBStick'] } as const
type Slot = keyof typeof SLOTS
const NAMES = Object.keys(SLOTS) as Slot[]

const INSERT = 'VirtualMedia.InsertMedia'
const EJECT = 'VirtualMedia.EjectMedia'
const SCHEMES = new Set(['http:', 'https:'])

const insert = (bmc: Bmc, slot: Slot, body: Json): Answer => {
  const more = bmc.personality.refusesInserted ? [] : ['Inserted', 'WriteProtected']
  parameters(body, INSERT, [
    'Image',
    'TransferMethod',
    'TransferProtocolType',
    'UserName',
    'Password',
    'MediaTypes',
    ...more,
  ])
  const { Image: image } = body
  if (image === undefined) throw new Refusal('ActionParameterMissing', [INSERT, 'Image'])
  const url = typeof image === 'string' && image.length <= 1000 ? URL.parse(image) : null
  if (!url || !SCHEMES.has(url.protocol))
    throw new Refusal('ActionParameterValueTypeError', [JSON.stringify(image), 'Image', INSERT])
  for (const name of ['Inserted', 'WriteProtected'])
    if (body[name] !== undefined && typeof body[name] !== 'boolean')
      throw new Refusal('ActionParameterValueTypeError', [JSON.stringify(body[name]), name, INSERT])
  if (bmc.kept.state.media[slot]) throw new Refusal('ResourceInUse')
  const imageName = url.pathname.split('/').at(-1) ?? ''
  bmc.kept.change((state) => {
    state.media[slot] = {
      image: url.href,
      imageName,
      isWriteProtected: body.WriteProtected !== false,
    }
    state.lastImageNames[slot] = imageName
  })
  return NO_CONTENT
}

const slotDocument = (bmc: Bmc, path: string, slot: Slot): Json => {
  const { media, lastImageNames } = bmc.kept.state
  const medium = media[slot]
  const left = bmc.personality.keepsImageName ? (lastImageNames[slot] ?? '') : ''
  return document(path, 'VirtualMedia.v1_6_5.VirtualMedia', slot, `Virtual ${slot}`, {
    MediaTypes: SLOTS[slot],
    ConnectedVia: medium ? 'URI' : 'NotConnected',
    Inserted: medium !== undefined,
    Image: medium?.image ?? null,
    ImageName: medium?.imageName ?? (left === '' ? null : left),
    WriteProtected: medium?.isWriteProtected ?? true,
    TransferMethod: 'Stream',
    Status: { State: 'Enabled', Health: 'OK' },
    Actions: {
      [`#${INSERT}`]: {
        target: `${path}/Actions/${INSERT}`,
        'TransferProtocolType@Redfish.AllowableValues': ['HTTP', 'HTTPS'],
      },
      [`#${EJECT}`]: { target: `${path}/Actions/${EJECT}` },
    },
  })
}

/** Adds the collection of slots under a manager or a system. */
export const addMedia = (tree: Tree, bmc: Bmc, above: string): void => {
  const collection = `${above}/VirtualMedia`
  addCollection(tree, collection, 'VirtualMediaCollection', () =>
    NAMES.map((slot) => `${collection}/${slot}`),
  )
  for (const slot of NAMES) {
    const path = `${collection}/${slot}`
    tree.set(path, { read: () => slotDocument(bmc, path, slot) })
    tree.set(`${path}/Actions/${INSERT}`, { post: ({ body }) => insert(bmc, slot, body) })
    tree.set(`${path}/Actions/${EJECT}`, {
      post: ({ body }) => {
        parameters(body, EJECT, [])
        bmc.kept.change((state) => delete state.media[slot])
        return NO_CONTENT
      },
    })
  }
}
