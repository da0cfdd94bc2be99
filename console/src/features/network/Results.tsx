import { useStore } from '../../lib/store.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { Icon } from '../../ui/pictures/Icon.tsx'
import css from './NetworkPage.module.css'
import { results } from './subnet-actions.ts'

/** What became of each of several subnets. */
export default function Results() {
  const shown = useStore(results)
  const close = () => results.set(null)
  return (
    <Dialog
      open={shown !== null}
      onClose={close}
      title={shown?.title ?? ''}
      footer={
        <Button kind="primary" onClick={close}>
          Close
        </Button>
      }
    >
      <ul className={css['results']} aria-label="Results">
        {shown?.list.map((r) => (
          <li key={r.name}>
            <Icon name={r.ok ? 'check' : 'error'} size={12} className={r.ok ? 'c-ok' : 'c-danger'} />
            <b>{r.name}</b> <span>{r.text}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
