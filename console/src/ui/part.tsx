/**
 * Parts of the program whose code loads when they are needed. A part that fails to load says so in
 * its own place, and is tried again.
 */
import { type ComponentType, lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import { codeRetryMs, codeTries } from '../lib/code/retries.ts'
import { reloadFromServer } from '../lib/code/release.ts'
import { cx } from './cx.ts'
import { ErrorState } from './feedback/States.tsx'
import { Button, IconButton } from './inputs/Button.tsx'
import css from './part.module.css'

type Importer<Props> = () => Promise<{ default: ComponentType<Props> }>

/**
 * What is shown in place of a part that failed to load. `retry` tries again at once, and reloads
 * the page if that fails, too.
 */
export interface MissingProps<Props> {
  of: Props
  error: unknown
  retry: () => void
}

export const missingText =
  'This part of Steelyard could not be loaded. It is tried again by itself.'

const InPlace = ({ retry }: Pick<MissingProps<unknown>, 'retry'>) => (
  <ErrorState boxed error={new Error(missingText)} onRetry={retry} />
)

/**
 * Like React's `lazy`, which would keep the first failure until the page is reloaded and show it in
 * place of the page. Here the part alone shows `Missing`, until a later try succeeds.
 */
export function part<Props extends object>(
  importer: Importer<Props>,
  Missing: ComponentType<MissingProps<Props>> = InPlace,
): ComponentType<Props> {
  const View: ComponentType<Props> = lazy<ComponentType<Props>>(async () => {
    try {
      return await importer()
    } catch (error) {
      return {
        default: (props: Props) => (
          <Tried importer={importer} Missing={Missing} first={error} of={props} />
        ),
      }
    }
  })
  return View
}

/** Tries to load a part again, every 2 s for half a minute, and whenever the user asks for it. */
function Tried<Props extends object>({
  importer,
  Missing,
  first,
  of,
}: {
  importer: Importer<Props>
  Missing: ComponentType<MissingProps<Props>>
  first: unknown
  of: Props
}) {
  const [View, setView] = useState<ComponentType<Props> | null>(null)
  const [error, setError] = useState(first)
  const tries = useRef(0)
  const load = useCallback(async (): Promise<boolean> => {
    try {
      const module = await importer()
      setView(() => module.default)
      return true
    } catch (latest) {
      setError(latest)
      return false
    }
  }, [importer])
  const isMissing = View === null
  useEffect(() => {
    if (!isMissing) return undefined
    const timer = setInterval(() => {
      if (tries.current++ < codeTries) void load()
    }, codeRetryMs)
    return () => clearInterval(timer)
  }, [isMissing, load])
  const retry = useCallback(async () => {
    // Some browsers remember that an import failed until the page is reloaded.
    if (!(await load())) await reloadFromServer()
  }, [load])
  return View === null ? (
    <Missing of={of} error={error} retry={() => void retry()} />
  ) : (
    <View {...of} />
  )
}

/**
 * A notice in place of a menu or dialog that failed to load. `centred`: in the middle of the
 * screen, otherwise below the element that contains it.
 */
export function MissingNotice({
  retry,
  onClose,
  centred = false,
}: {
  retry: () => void
  onClose?: (() => void) | undefined
  centred?: boolean
}) {
  return (
    <div role="alert" className={cx(css['missing'], centred && css['centred'])}>
      <p className="grow">{missingText}</p>
      <Button size="small" onClick={retry}>
        Try again
      </Button>
      {onClose && <IconButton icon="close" label="Close" onClick={onClose} />}
    </div>
  )
}

/** Props of a part that opens and closes. */
interface Opened {
  open: boolean
  onClose?: () => void
  onOpen?: (open: boolean) => void
}

/**
 * A part whose code loads when it first opens. The part stays mounted from then on, so that closing
 * can be animated. `centred`: where its notice appears if it fails to load.
 */
export function onceOpened<Props extends Opened>(
  importer: Importer<Props>,
  { centred = true }: { centred?: boolean } = {},
) {
  const Missing = ({ of: { open, onClose, onOpen }, retry }: MissingProps<Props>) =>
    open && (
      <MissingNotice
        retry={retry}
        centred={centred}
        onClose={onClose ?? (onOpen && (() => onOpen(false)))}
      />
    )
  const View = part(importer, Missing)
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

/**
 * A part whose code loads when it first renders, or earlier through `load`. After that the part
 * renders at once: React's own `lazy` shows its fallback even if the code has loaded, and keeps the
 * fallback for 300 ms.
 */
export function later<Props extends object>(
  importer: Importer<Props>,
): ComponentType<Props> & { load: () => void } {
  let come: ComponentType<Props> | undefined
  const load = async () => {
    const module = await importer()
    come = module.default
    return module
  }
  const Lazy = part(load)
  function Later(props: Props) {
    // Chosen once: a switch from `Lazy` to the loaded component would remount the page's content.
    const [View] = useState<ComponentType<Props>>(() => come ?? Lazy)
    return <View {...props} />
  }
  return Object.assign(Later, { load: () => void load().catch(() => undefined) })
}
