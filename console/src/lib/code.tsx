import { type ComponentType, lazy, Suspense, useState } from 'react'
import { pause } from './pause.ts'

/** Enough tries to outlast a restart of Steelyard. If a file is still missing then, a newer version has renamed the file, and the page must be reloaded. */
const tries = 15
const betweenMs = 2_000

/**
 * Wraps a dynamic import with retries, so that a click during a restart of Steelyard is only slow. React's `lazy` keeps the first
 * failure until a reload, and shows the error in place of the page.
 * @throws the error of the last attempt
 */
export const patiently =
  <Module,>(importer: () => Promise<Module>) =>
  async (): Promise<Module> => {
    for (let left = tries - 1; left > 0; left--) {
      try {
        return await importer()
      } catch {
        await pause(betweenMs)
      }
    }
    return importer()
  }

/**
 * A component whose code loads when it first renders, or earlier through `load`. After that the component renders at once:
 * React's own `lazy` shows its fallback even if the code has loaded, and keeps the fallback for 300 ms.
 */
export function later<Props extends object>(importer: () => Promise<{ default: ComponentType<Props> }>): ComponentType<Props> & { load: () => void } {
  let come: ComponentType<Props> | undefined
  const load = async () => {
    const module = await importer()
    come = module.default
    return module
  }
  const Lazy = lazy(load)
  function Later(props: Props) {
    // Chosen once: a switch from `Lazy` to the loaded component would remount the page's content.
    const [View] = useState<ComponentType<Props>>(() => come ?? (Lazy as ComponentType<Props>))
    return <View {...props} />
  }
  return Object.assign(Later, { load: () => void load() })
}

/** A component whose code loads when it first opens. The component stays mounted from then on, so that closing can be animated. */
export function onceOpened<Props extends { open: boolean }>(importer: () => Promise<{ default: ComponentType<Props> }>) {
  const View: ComponentType<Props> = lazy(patiently(importer))
  return function OnceOpened(props: Props) {
    const [wanted, setWanted] = useState(false)
    if (props.open && !wanted) setWanted(true)
    return (
      wanted && (
        <Suspense fallback={null}>
          <View {...props} />
        </Suspense>
      )
    )
  }
}
