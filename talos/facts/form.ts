/** In which form a whole configuration is: in the documents of Talos 1.14 or in the main document. */
import { rootsOf } from '../config/whole.ts'
import { encryptionForm } from './encryption.ts'
import { rootOf } from './home.ts'

export interface ConfigForm {
  /** Kubernetes has documents of its own. */
  readonly inDocuments: boolean
  /** How KubeEtcdEncryptionConfig encrypts; null without that document. */
  readonly encryption: ReturnType<typeof encryptionForm>
}

/** @throws ConfigError for invalid YAML */
export function formOf(config: string): ConfigForm {
  const roots = rootsOf(config)
  return {
    inDocuments: rootOf(roots, 'KubeClusterConfig') !== undefined,
    encryption: encryptionForm(roots),
  }
}
