import type { FastifyInstance } from 'fastify'
import { extensionList, imageCreate, imageFactoryGet, imageGet, imageList, imageRegister, imageRemove } from '#contract/images.ts'
import { serve } from '../../http/serve.ts'
import { versionList } from '#contract/versions.ts'
import type { Images } from './images.ts'
import type { Versions } from './versions.ts'

export function imageRoutes(app: FastifyInstance, images: Images, versions: Versions): void {
  const on = serve(app)
  on(versionList, ({ query }) => versions.list(query))
  on(imageFactoryGet, () => images.factory())
  on(extensionList, ({ query }) => images.extensions(query))
  on(imageList, ({ caller, query }) => images.list(caller, query))
  // The answer depends on the token and the settings, which change without a new version of the image.
  serve(app, { isVolatile: true })(imageGet, ({ caller, params }) => images.get(caller, params.id))
  on(imageCreate, ({ caller, body }) => images.create(caller, body))
  on(imageRegister, ({ caller, params }) => images.register(caller, params.id))
  on(imageRemove, ({ caller, params, ifMatch }) => images.remove(caller, params.id, ifMatch).then(() => undefined))
}
