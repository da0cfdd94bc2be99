import { useInstallation } from '../../api/installation.ts'
import { Button, ButtonLink } from '../../ui/inputs/Button.tsx'
import { dialog } from '../../ui/overlay/dialogs.ts'

const loadDialog = () => import('./JoinWaitlist.tsx')
const joinWaitlist = dialog(loadDialog)

/** Opens the provider's own waitlist if there is one, else a small dialog. */
export function JoinButton({ size = 'medium' }: { size?: 'medium' | 'large' }) {
  const url = useInstallation()?.waitlist_url
  if (url) {
    return (
      <ButtonLink size={size} href={url} rel="noreferrer">
        Join waitlist
      </ButtonLink>
    )
  }
  return (
    <Button
      size={size}
      onPointerEnter={() => void loadDialog().catch(() => undefined)}
      onClick={() => void joinWaitlist()}
    >
      Join waitlist
    </Button>
  )
}
