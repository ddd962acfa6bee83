/// Keeps an array alive while its memory, or its elements, wait to be written or may be referred to.
final class ArrayOwner<Element> {
    let array: [Element]

    init(_ array: [Element]) { self.array = array }
}
