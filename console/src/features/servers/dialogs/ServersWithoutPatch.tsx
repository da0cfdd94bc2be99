import { truncate } from '../../../lib/text.ts'
import { Badge } from '../../../ui/feedback/Status.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import css from './ServersWithoutPatch.module.css'

/**
 * Specified: number of rows from which the list scrolls, height of a row in px, and characters kept
 * at both ends of a shortened address.
 */
const rowsInSight = 5
const rowHeight = 64.41
const addressEnds = [6, 5] as const

/**
 * The page on connecting servers with Kubernetes, which Steelyard serves itself
 * (`docs/connecting-servers.html`).
 */
const connectingServers = '/docs/connecting-servers'

interface ServersWithoutPatchProps {
  servers: readonly { id: string; name: string; address?: string }[]
  onConfirm: () => unknown
}

/**
 * The modal `confirmServersWithoutPatch`: lists servers without a user's patch and asks whether to
 * continue.
 */
export default function ServersWithoutPatch({ servers, onConfirm }: ServersWithoutPatchProps) {
  const { close } = useDialog()
  const form = useForm({
    initial: {},
    read: () => ({ ok: true, body: null }),
    send: () => onConfirm(),
    done: () => close(),
  })
  const scrolls = servers.length > rowsInSight
  return (
    <FormDialog
      form={form}
      width="27.5rem"
      title="Custom Talos Patches have not been created for these servers"
      submit="Proceed"
    >
      <ul
        className={scrolls ? `${css['list']} ${css['scrolls']}` : css['list']}
        style={scrolls ? { maxHeight: rowHeight * rowsInSight } : undefined}
        aria-label="Servers without a patch"
        {...(scrolls && { tabIndex: 0 })}
      >
        {servers.map((server) => (
          <li key={server.id} style={{ height: rowHeight }}>
            <div>
              <span className="strong clip">{server.name}</span>
              {server.address === undefined ? (
                <span className="fs12 t3">No Addresses</span>
              ) : (
                <span className="mono fs12 t3" title={server.address}>
                  {truncate(server.address, ...addressEnds)}
                </span>
              )}
            </div>
            <Badge tone="warn" icon="alert">
              Warning
            </Badge>
          </li>
        ))}
      </ul>
      <p className={`fs13 t2 ${css['docs']}`}>
        Ensure networking is configured as per the{' '}
        <a href={connectingServers} target="_blank" rel="noreferrer">
          official documentation
        </a>{' '}
        before you continue.
      </p>
    </FormDialog>
  )
}
