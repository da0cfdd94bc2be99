import { generateConfig, type GenerateInput } from '../config/generate.ts'
import { mergePatches } from '../config/merge.ts'
import { validateConfig } from '../config/validate.ts'
import { generateSecrets } from '../secrets/bundle.ts'
import { readyKeys } from './keys.ts'

export const secrets = await generateSecrets({ now: new Date(), keys: await readyKeys() })

/** A generated configuration. */
export function config(more: Partial<GenerateInput> = {}): string {
  return generateConfig({
    role: 'control_plane',
    clusterName: 'c',
    endpoint: 'https://10.0.0.1:6443',
    talosVersion: '1.13',
    kubernetesVersion: '1.36.3',
    secrets,
    installDisk: '/dev/sda',
    ...more,
  })
}

/** Error messages for a generated configuration after a patch was applied. */
export function messages(patch: string, more: Partial<GenerateInput> = {}): string[] {
  const talosVersion = more.talosVersion ?? '1.13'
  const layers = [{ name: 'patch', body: patch }]
  const { yaml } = mergePatches(config(more), layers, { talosVersion })
  return validateConfig(yaml, { talosVersion }).errors.map((e) => e.message)
}
