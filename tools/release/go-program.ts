/** Programs that try a release, from the Go module proxy in fixed versions. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Release, run } from './artefact.ts'

/** Builds a Go program of a module once, and returns its path. */
export async function goProgram({ cache, say }: Release, module: string): Promise<string> {
  const [path = '', version = ''] = module.split('@')
  const bin = join(cache, `go-${version}`)
  const program = join(bin, path.slice(path.lastIndexOf('/') + 1))
  if (!existsSync(program)) {
    say(`  building ${module}`)
    await run('go', ['install', module], { env: { ...process.env, GOBIN: bin } })
  }
  return program
}
