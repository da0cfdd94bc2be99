import { useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'

/** Navigates to a path from `lib/paths.ts`. */
export function useGo(): (href: string, how?: { replace?: boolean }) => Promise<void> {
  const navigate = useNavigate()
  return useCallback((href, how = {}) => navigate({ href, ...how }), [navigate])
}
