import { Alert } from './Status.tsx'

interface VersionNoticesProps {
  versions: { notices: readonly string[]; reason: string | null; source: 'factory' | 'shipped' }
}

/** Notices of new versions, versions out of support, and a version list that may be old. */
export function VersionNotices({ versions: { notices, reason, source } }: VersionNoticesProps) {
  const age =
    source === 'shipped'
      ? 'These are the versions that Steelyard was shipped with.'
      : 'This is the last list of versions that the factory returned.'
  return (
    <>
      {notices.length > 0 && <Alert tone="info">{notices.join(' ')}</Alert>}
      {reason !== null && (
        <Alert tone="warn">
          {reason}. {age}
        </Alert>
      )}
    </>
  )
}
