import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { installation } from '../../api/installation.ts'
import { Button, ButtonLink } from '../../ui/Button.tsx'

const loadDialog = () => import('./JoinWaitlist.tsx')
const JoinWaitlist = lazy(loadDialog)

/** To the provider's own waitlist where there is one, otherwise to a small dialog. */
export function JoinButton({ size = 'medium' }: { size?: 'medium' | 'large' }) {
  const { data } = useQuery(installation())
  const [open, setOpen] = useState(false)
  const [wanted, setWanted] = useState(false)
  if (data?.waitlist_url) {
    return (
      <ButtonLink size={size} href={data.waitlist_url} rel="noreferrer">
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
