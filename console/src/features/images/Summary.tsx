import { KeyValue } from '../../ui/text/Panel.tsx'
import { shortName } from './extensions.ts'
import { argsOf, type Draft, formatNames, noToken } from './image-form.ts'

/** Describes the image before it is made. */
export function Summary({ draft, version, site, token }: { draft: Draft; version: string; site: string | undefined; token: string | undefined }) {
  const args = argsOf(draft.kernelArgs)
  return (
    <div className="stack">
      <KeyValue
        rows={[
          ['Talos', `${version}, ${draft.arch}${draft.secureboot ? ', SecureBoot' : ''}`],
          ['File', formatNames[draft.format]],
          ['Extensions', draft.extensions.length === 0 ? <span className="t3">None</span> : draft.extensions.map(shortName).join(', ')],
          ['Kernel arguments', args.length === 0 ? <span className="t3">Talos's own</span> : <span className="mono">{args.join(' ')}</span>],
          ['Datacenter', site ?? <span className="t3">None yet</span>],
          ['Join token', token ?? <span className="t3">{draft.token === noToken ? 'None' : 'Not chosen yet'}</span>],
        ]}
      />
      <p className="fs13 t2">
        Generate makes the schematic and its id, registers it with the image factory and shows the links for every format, the PXE script and the kernel command
        line.
      </p>
    </div>
  )
}
