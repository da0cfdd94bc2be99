/** What a screen is, and the data that the screens show. */
import type { Page } from 'playwright-core'

/** Data of the screens of joining. */
export interface JoiningWorld {
  /** A prepared image. One server has joined with the image's join token. */
  image: { id: string; tokenName: string }
  /** A worker of the ready cluster. */
  worker: { id: string; name: string }
}

/** Data of the screens of the marketplace. */
export interface MarketplaceWorld {
  /**
   * An active commitment, of a server in the ready cluster. `draft`: one without price and times.
   */
  commitment: { id: string; name: string }
  draft: { id: string; name: string }
}

/** Data of the screens of subnets. */
export interface NetworkWorld {
  /** A subnet that is assigned to the ready cluster and has some addresses in use. */
  subnet: { id: string; name: string }
  /** `spare`: an unassigned subnet. `six`: an IPv6 subnet. `wide`: a subnet of 65,536 addresses. */
  spare: { id: string; name: string }
  six: { id: string; name: string }
  wide: { id: string; name: string }
}

/** Data of the screens of racks: a rack with servers of the ready cluster and others. */
export interface RackWorld {
  rack: { id: string; name: string }
}

/** Data of the screens of shared patches: one that the workers of the ready cluster lack. */
export interface SharedPatchWorld {
  shared: { id: string; name: string }
}

/** Data of the rarer screens, made by `furnishRare`. */
export interface RareWorld extends JoiningWorld, RackWorld, SharedPatchWorld {
  /** Path of a link to set a password. */
  passwordLink: string
  /** A server whose hardware is unconfirmed. */
  unconfirmed: { id: string; name: string }
  /** A removed server. */
  removed: { id: string; name: string }
  /** A cluster that waits for a server that no longer answers. */
  waiting: { id: string; name: string }
  /**
   * `unwiped`: failed, because a server's disk got content after the server was chosen. `troubled`:
   * a cluster with a server that doesn't accept a patch.
   */
  unwiped: { id: string; name: string }
  troubled: { id: string; name: string }
  /**
   * `drifted`: a server of the ready cluster whose configuration was changed outside of Steelyard.
   * `talosconfig`: of the ready cluster.
   */
  drifted: { id: string; name: string }
  talosconfig: string
}

/** Data that the screens show, made by `furnish` in screens.e2e.ts. */
export interface World extends RareWorld, MarketplaceWorld, NetworkWorld {
  /** A free server with a patch and with content on all disks. */
  server: { id: string; name: string; patchId: string }
  /** A ready cluster. */
  ready: { id: string; name: string }
}

export interface Screen {
  name: string
  path: string | ((world: World) => string)
  /** Waits for the content of the screen, and opens its dialog or menu. */
  ready: (page: Page, world: World) => Promise<unknown>
  /** For visitors. */
  signedOut?: true
  /** Check the screen only at this width. */
  only?: number
  /** Errors that the page may log here. */
  mayLog?: RegExp
  /**
   * The screen's menu closes when the window is resized, so the screen is opened again at each
   * width.
   */
  anew?: true
}
