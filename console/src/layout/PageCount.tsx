import { useEffect } from 'react'
import { createStore } from '../lib/store.ts'

export const pageCount = createStore<number | null>(null)

/** The number beside the page's title: "Servers 148". */
export function PageCount({ n }: { n: number | undefined }) {
  useEffect(() => {
    pageCount.set(n ?? null)
    return () => pageCount.set(null)
  }, [n])
  return null
}
