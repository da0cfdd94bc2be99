import { lazy, Suspense, useState } from 'react'
import { useInstallation } from '../../api/installation.ts'
import { Button, ButtonLink } from '../../ui/inputs/Button.tsx'

const loadDialog = () => import('./JoinWaitlist.tsx')
const JoinWaitlist = lazy(loadDialog)

/** To the provider's own waitlist where there is one, otherwise to a small dialog. */
export function JoinButton({ size = 'medium' }: { size?: 'medium' | 'large' }) {
  const url = useInstallation()?.waitlist_url
  const [open, setOpen] = useState(false)
  const [wanted, setWanted] = useState(false)
  if (url) {
    return (
      <ButtonLink size={size} href={url} rel="noreferrer">
        Join waitlist
      </ButtonLink>
    )
  }
  return (
    <>
      <Button
        size={size}
        onPointerEnter={() => void loadDialog()}
        onClick={() => {
          setWanted(true)
          setOpen(true)
        }}
      >
        Join waitlist
      </Button>
      {wanted && (
        <Suspense fallback={null}>
          <JoinWaitlist open={open} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
