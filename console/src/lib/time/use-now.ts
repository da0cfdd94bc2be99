import { useEffect, useState } from 'react'
import { serverNow } from './server-time.ts'

/** The time in ms since 1970, updated every `everyMs` while `running`. */
export function useNow(running: boolean, everyMs = 1000): number {
  const [now, setNow] = useState(() => serverNow())
  useEffect(() => {
    if (!running) return undefined
    const timer = setInterval(() => setNow(serverNow()), everyMs)
    return () => clearInterval(timer)
  }, [running, everyMs])
  return now
}
