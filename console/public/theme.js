// Before the first paint: the theme of the cookie, or the system's. A file of its own, since the content policy allows no inline script.
;(function () {
  var chosen = /(?:^|; )theme=(dark|light)/.exec(document.cookie)
  var light = chosen ? chosen[1] === 'light' : matchMedia('(prefers-color-scheme: light)').matches
  document.documentElement.dataset.theme = light ? 'light' : 'dark'
})()
