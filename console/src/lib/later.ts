import { type ComponentType, createElement, lazy, useState } from 'react'

/**
 * A component whose code comes when it is first drawn, or when `load` is called ahead of that. What has come already is drawn at once:
 * React's own `lazy` shows its fallback even then, and holds a fallback that it has shown for 300 ms.
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
    // One of the two for as long as it stands: the other would begin anew.
    const [View] = useState<ComponentType<Props>>(() => come ?? (Lazy as ComponentType<Props>))
    return createElement(View, props)
  }
  return Object.assign(Later, { load: () => void load() })
}
