import { type ComponentType, createElement, lazy, useState } from 'react'

/**
 * A component whose code loads when it first renders, or earlier through `load`. Once loaded it renders at once:
 * React's own `lazy` shows its fallback even then, and keeps it for 300 ms.
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
    // Keeps the choice while mounted: switching would remount the component.
    const [View] = useState<ComponentType<Props>>(() => come ?? (Lazy as ComponentType<Props>))
    return createElement(View, props)
  }
  return Object.assign(Later, { load: () => void load() })
}
