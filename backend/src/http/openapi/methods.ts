/** Which methods each path has, for the response 405 and its header `Allow`. */
import type { FastifyInstance } from 'fastify'

interface Path {
  readonly url: string
  readonly pattern: RegExp
  /** A path with fewer parameters is meant before one with more: `/v1/nodes/patches`. */
  readonly parameters: number
  readonly methods: Set<string>
}

const pathOf = (url: string): Path => ({
  url,
  pattern: new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`),
  parameters: url.includes('*') ? Number.POSITIVE_INFINITY : url.split(':').length - 1,
  methods: new Set(),
})

/** Records the routes that are added from now on. */
export function methodsOfPaths(app: FastifyInstance) {
  const paths = new Map<string, Path>()
  app.addHook('onRoute', ({ method, url }) => {
    const path = paths.get(url) ?? pathOf(url)
    paths.set(url, path)
    for (const one of [method].flat()) path.methods.add(one)
  })
  /** By the path of a route: those with fewer parameters that its requests may mean. */
  let narrower: ReadonlyMap<string, readonly Path[]> = new Map()
  app.addHook('onReady', async () => {
    const all = [...paths.values()].toSorted((a, b) => a.parameters - b.parameters)
    narrower = new Map(
      all
        .filter(({ parameters }) => parameters > 0)
        .map(({ url, pattern, parameters }) => [
          url,
          all.filter(
            (other) =>
              other.parameters < parameters && pattern.test(other.url.replaceAll(/:\w+/g, 'any')),
          ),
        ]),
    )
  })
  return {
    /** The methods of a path; undefined if nothing is there. */
    of: (path: string): ReadonlySet<string> | undefined =>
      [...paths.values()]
        .filter(({ pattern }) => pattern.test(path))
        .toSorted((a, b) => a.parameters - b.parameters)[0]?.methods,
    /**
     * The methods of the path that a request means, if it reached a route of another path, because
     * its own lacks the method: `DELETE /v1/nodes/patches` reaches `/v1/nodes/{id}`.
     */
    meant(route: string | undefined, url: string): ReadonlySet<string> | undefined {
      const others = narrower.get(route ?? '')
      if (!others || others.length === 0) return undefined
      const path = url.split('?', 1)[0]!
      return others.find(({ pattern }) => pattern.test(path))?.methods
    },
  }
}
