/** Constructs the images domain: the image factory, versions, images and installers. */
import {
  extensionList,
  imageCreate,
  imageFactoryGet,
  imageGet,
  imageList,
  imageRegister,
  imageRemove,
} from '#contract/images.ts'
import { versionList } from '#contract/versions.ts'
import { serve } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import type { Datacenters } from '../datacenters/api.ts'
import type { Joining } from '../joining/api.ts'
import type { Images } from './api.ts'
import { factory as makeFactory } from './factory.ts'
import { images } from './images.ts'
import { kubernetesReleases } from './kubernetes-releases.ts'
import { installers } from './installers.ts'
import { versions as makeVersions } from './versions.ts'

/** Delay of the first fetch of the versions, in ms, so that it doesn't slow down the start. */
const firstVersionsMs = 1_000

interface ImageParts extends Platform {
  readonly datacenters: Datacenters
  readonly joining: Joining
}

export function imageDomain(parts: ImageParts): Images & Domain {
  const { config, clock, read } = parts
  const factory = makeFactory({ ...parts, url: config.imageFactoryUrl })
  const releases = kubernetesReleases({ ...parts, url: config.kubernetesReleasesUrl })
  const versions = makeVersions({ factory, releases, clock })
  const calls = images({ ...parts, factory })

  return {
    name: 'images',
    routes(app) {
      const on = serve(app)
      on(versionList, ({ query }) => versions.list(query))
      on(imageFactoryGet, () => calls.factory())
      on(extensionList, ({ query }) => calls.extensions(query))
      on(imageList, ({ caller, query }) => calls.list(caller, query))
      // The response depends on the join token and the settings, which change without a new
      // version of the image.
      serve(app, { isVolatile: true })(imageGet, ({ caller, params }) =>
        calls.get(caller, params.id),
      )
      on(imageCreate, ({ caller, body }) => calls.create(caller, body))
      on(imageRegister, ({ caller, params }) => calls.register(caller, params.id))
      on(imageRemove, ({ caller, params, ifMatch }) =>
        calls.remove(caller, params.id, ifMatch).then(() => undefined),
      )
    },
    start: async () => void setTimeout(() => void versions.refresh(), firstVersionsMs).unref(),
    versions,
    installers: installers({ factory, read }),
  }
}
