/**
 * Checks of a wanted image, by Steelyard and by the image factory. Every refusal is a Problem with
 * a message.
 */
import { Problem } from '#contract/errors.ts'
import { imageLimits } from '#contract/images/customization.ts'
import { canPutServersIn, type NewImage } from '#contract/images.ts'
import { canUseJoinToken } from '#contract/join-tokens.ts'
import { supportedMinor, supportedText } from '#talos/versions.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { DatacenterName, Datacenters } from '../datacenters/api.ts'
import type { Joining, TokenForImage } from '../joining/api.ts'
import { FactoryError } from './factory-call.ts'
import type { Factory } from './factory.ts'
import { commandLineOf, type Customized, kernelArgsOf } from './present.ts'

/**
 * Normalises a Talos version to `v1.13.9`; undefined for a version that Steelyard doesn't create
 * clusters with.
 */
export function supportedVersion(given: string): string | undefined {
  const version = given.startsWith('v') ? given : `v${given}`
  return supportedMinor(version) && version
}
export const unsupported = (given: string): string =>
  `Talos ${given} is not supported; choose ${supportedText()}`

/** Converts an error of the factory to a Problem, for calls that need the factory. */
export const asProblem = (error: unknown): unknown =>
  error instanceof FactoryError
    ? new Problem(
        error.kind === 'refused' ? 'factory_refused' : 'factory_unreachable',
        error.message,
      )
    : error

/**
 * Old → new names of extensions. The factory builds both, but lists the new names (image-factory
 * `internal/profile/profile.go` ExtensionNameAlias). Talos 1.12 to 1.14 renamed none: what
 * siderolabs/extensions builds for one minor (`Makefile`, TARGETS), it builds for the next.
 */
const renamed: Readonly<Record<string, string>> = {
  'siderolabs/v4l-uvc': 'siderolabs/v4l-uvc-drivers',
  'siderolabs/usb-modem': 'siderolabs/usb-modem-drivers',
  'siderolabs/gasket': 'siderolabs/gasket-driver',
  'siderolabs/talos-vmtoolsd': 'siderolabs/vmtoolsd-guest-agent',
  'siderolabs/xe-guest-utilities': 'siderolabs/xen-guest-agent',
  'siderolabs/nvidia-container-toolkit': 'siderolabs/nvidia-container-toolkit-lts',
  'siderolabs/nvidia-open-gpu-kernel-modules': 'siderolabs/nvidia-open-gpu-kernel-modules-lts',
  'siderolabs/nonfree-kmod-nvidia': 'siderolabs/nonfree-kmod-nvidia-lts',
  'siderolabs/nvidia-fabricmanager': 'siderolabs/nvidia-fabric-manager-lts',
  'siderolabs/i915-ucode': 'siderolabs/i915',
  'siderolabs/amdgpu-firmware': 'siderolabs/amdgpu',
}

/**
 * Checks that the factory builds this version with these extensions. Returns null, or why the
 * factory couldn't be queried.
 * @throws Problem factory_refused that names the version or the extensions
 */
export async function offered(
  factory: Factory,
  version: string,
  extensions: readonly string[],
): Promise<string | null> {
  try {
    const [versions, known] = await Promise.all([
      factory.versions(true),
      extensions.length === 0 ? null : factory.extensions(version, true),
    ])
    if (versions.reason !== null) return versions.reason
    if (!versions.items.includes(version)) throw notBuilt(version)
    if (known === null || known.reason !== null) return known?.reason ?? null
    const names = new Set(known.items.map((e) => e.name))
    const missing = extensions.filter((e) => !names.has(e))
    if (missing.length === 0) return null
    const sentence = missing
      .slice(0, 5)
      .map((name) => {
        const now = renamed[name]
        return now !== undefined && names.has(now)
          ? `${name} is called ${now} now`
          : `The image factory has no extension ${name} for Talos ${version}`
      })
      .join('. ')
    throw new Problem('factory_refused', sentence, { extensions: sentence })
  } catch (error) {
    if (error instanceof FactoryError && error.kind === 'unreachable') return error.message
    throw asProblem(error)
  }
}

export function notBuilt(version: string): Problem {
  const sentence = `The image factory does not build Talos ${version}`
  return new Problem('factory_refused', sentence, { talos_version: sentence })
}

/**
 * The join token and the datacenter of an image.
 * @throws Problem not_found; conflict if the token can't be used; invalid if token and datacenter
 * contradict each other
 */
export async function placed(
  on: Db | Tx,
  { datacenters, joining }: { datacenters: Datacenters; joining: Joining },
  input: Pick<NewImage, 'token_id' | 'datacenter_id'>,
): Promise<{ token: TokenForImage | null; datacenter: DatacenterName | null }> {
  const [token, wanted] = [
    input.token_id && (await joining.tokenFor(on, input.token_id)),
    input.datacenter_id && (await datacenters.find(on, input.datacenter_id)),
  ]
  if (input.token_id !== null && !token)
    throw new Problem('not_found', 'There is no such join token')
  if (input.datacenter_id !== null && !wanted)
    throw new Problem('not_found', 'There is no such datacenter')
  const datacenter = wanted || null
  if (!token) return { token: null, datacenter }
  const usable = canUseJoinToken(token)
  if (!usable.ok) throw new Problem('conflict', usable.reason, { token_id: usable.reason })
  const its = token.datacenterId === null ? null : await datacenters.find(on, token.datacenterId)
  const verdict = canPutServersIn({ name: token.name, datacenter: its }, datacenter)
  if (!verdict.ok) throw new Problem('invalid', verdict.reason, { datacenter_id: verdict.reason })
  return { token, datacenter: datacenter ?? its }
}

/** Why the kernel would truncate the image's command line, or null. */
export function lengthProblem(
  image: Parameters<typeof commandLineOf>[0] & Customized,
  token: TokenForImage | null,
): string | null {
  const { length } = commandLineOf(image, kernelArgsOf(image, token?.text))
  return length <= imageLimits.kernelCommandLine
    ? null
    : `The kernel command line would have ${length} characters; at most ${imageLimits.kernelCommandLine} fit`
}
