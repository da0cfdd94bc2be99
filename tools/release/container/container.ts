/**
 * Starts a container of an image without a container engine, as one does it: from the unpacked
 * root, which is read-only, with namespaces of its own, as the image's user without rights, with
 * the environment and the arguments of the image's configuration, and nothing else.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { attempt, type Ran, type Release, run } from '../artefact.ts'
import { goProgram } from '../go-program.ts'
import { dataFolder, userId } from './root.ts'
import { tagOf } from './layout.ts'

/** Of config.json, how a runtime starts the container (runtime-spec, config.md). */
interface Process {
  readonly args: readonly string[]
  readonly env: readonly string[]
  readonly user: { readonly uid: number; readonly gid: number }
}

export interface Unpacked {
  readonly root: string
  readonly process: Process
}

/** A reader of the layout that others have written, in this version. */
const umoci = 'github.com/opencontainers/umoci/cmd/umoci@v0.5.1'

/**
 * Unpacks an archive of the layout. Every hash is checked.
 * @param version of the image, which its tag names
 */
export async function unpackImage(
  release: Release,
  archive: string,
  version: string,
): Promise<Unpacked> {
  const layout = join(release.work, `try-layout-${version}`)
  const bundle = join(release.work, `try-bundle-${version}`)
  mkdirSync(layout)
  await run('tar', ['-C', layout, '-xf', archive])
  const image = `${layout}:${tagOf(version)}`
  await run(await goProgram(release, umoci), ['unpack', '--image', image, bundle])
  const { process } = JSON.parse(readFileSync(join(bundle, 'config.json'), 'utf8')) as {
    process: Process
  }
  return { root: join(bundle, 'rootfs'), process }
}

/**
 * A volume as Kubernetes mounts it for a pod with an `fsGroup`: it belongs to root, and the group
 * may write.
 */
export function makeVolume(folder: string): string {
  mkdirSync(folder)
  chownSync(folder, 0, userId)
  chmodSync(folder, 0o2775)
  return folder
}

export interface How {
  readonly volume: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  /** Files of this machine that are mounted in the folder /etc/steelyard. */
  readonly files?: string
}

/** The mounts of a runtime (config-linux.md, "Default Filesystems"), and the volumes. */
const setup = [
  'set -e',
  'mount --bind "$1" "$1"',
  `mount --bind "$2" "$1${dataFolder}"`,
  'mount -t proc proc "$1/proc"',
  'mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"',
  'mount -t tmpfs -o mode=755 tmpfs "$1/dev"',
  'for name in null zero full random urandom; do',
  '  touch "$1/dev/$name"; mount --bind "/dev/$name" "$1/dev/$name"',
  'done',
  'mkdir "$1/dev/shm"; mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"',
  'if [ -n "$3" ]; then mount --bind "$3" "$1/etc/steelyard"; fi',
  'mount -o remount,bind,ro "$1"',
  'exec setpriv --no-new-privs chroot --userspec="$4" --groups= "$1" "${@:5}"',
].join('\n')

function command(
  { root, process: { env: own, user } }: Unpacked,
  args: readonly string[],
  { volume, env = {}, files = '' }: How,
): string[] {
  if (files !== '') mkdirSync(join(root, 'etc/steelyard'), { recursive: true })
  const given = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const namespaces = ['--pid', '--fork', '--mount', '--kill-child']
  const clean = ['/usr/bin/env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin']
  const its = own.filter((line) => !line.startsWith('PATH='))
  const script = ['bash', '-c', setup, 'bash', root, volume, files, `${user.uid}:${user.gid}`]
  return [...namespaces, ...clean, ...its, ...given, ...script, ...args]
}

/** Runs a program in a container of its own to the end. */
export const runInContainer = (image: Unpacked, args: readonly string[], how: How): Promise<Ran> =>
  attempt('unshare', command(image, args, how), how.input === undefined ? {} : { input: how.input })

export interface Container {
  readonly url: string
  /** Id of the container's process 1 on this machine. */
  readonly pid: number
  /** Standard output and error so far. */
  readonly log: () => string
  /** Ends process 1 with a signal, and returns its exit code. unshare(1) dies of the same signal. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | NodeJS.Signals | null>
}

const children = new Set<ChildProcess>()
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')))

/**
 * Starts the image's own command, and waits until Steelyard is ready.
 * @throws Error with its output if it ends before
 */
export async function startContainer(image: Unpacked, how: How): Promise<Container> {
  const child = spawn('unshare', command(image, image.process.args, how), {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('close', (code, signal) => {
      children.delete(child)
      resolve(code ?? signal)
    }),
  )
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (text) => {
      output += `${text}\n`
      const found = /^Steelyard is ready at (\S+)$/.exec(text)
      if (found) resolve(found[1]!.replace('0.0.0.0', '127.0.0.1'))
    })
    void ended.then((code) =>
      reject(new Error(`The container ended with ${code} before it was ready:\n${output}`)),
    )
  })
  const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'))
  return {
    url,
    pid,
    log: () => output,
    async end(signal) {
      process.kill(pid, signal)
      return ended
    },
  }
}
